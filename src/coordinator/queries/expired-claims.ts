import { leaseEndMsOf } from '../../core/claims/lease.js';
import type { TaskClaim } from '../../core/contract/claim-records.js';
import type { PageQuery } from '../../core/contract/schema.js';
import type { SliceableWork } from '../../core/sliceable-work.js';
import { type FoldContext, taskStateIn, type WorkWithParked } from '../../core/views/index.js';
import { limitOf } from './page.js';

const SUBJECTS_BETWEEN_PAUSES = 200;

/** Claims that expired before a time and whose work was not claimed again, ordered by task id. */
export function* expiredClaims(
  state: WorkWithParked,
  context: FoldContext,
  beforeMs: number,
  query: PageQuery,
): SliceableWork<{ claims: TaskClaim[]; next: string | null }> {
  const limit = limitOf(query);
  const subjects = yield* firstExpired(
    state,
    Math.min(beforeMs, context.now_ms),
    query.after ?? '',
    limit + 1,
  );
  const page = subjects.slice(0, limit);
  const claims = page.flatMap((subject) => taskStateIn(state, subject, context).claim ?? []);
  return { claims, next: subjects.length > limit ? (page.at(-1) ?? null) : null };
}

/** The first subjects after `after` whose lease ended before a time, without sorting all of them. */
function* firstExpired(
  { heads }: WorkWithParked,
  beforeMs: number,
  after: string,
  count: number,
): SliceableWork<string[]> {
  let expired: string[] = [];
  let scannedCount = 0;
  for (const subject of heads.keys()) {
    const head = subject > after ? heads.get(subject) : undefined;
    const endMs = head === undefined ? null : leaseEndMsOf(head);
    if (endMs !== null && endMs < beforeMs) expired.push(subject);
    if (expired.length >= 4 * count) expired = expired.sort().slice(0, count);
    scannedCount += 1;
    if (scannedCount % SUBJECTS_BETWEEN_PAUSES === 0) yield;
  }
  return expired.sort().slice(0, count);
}
