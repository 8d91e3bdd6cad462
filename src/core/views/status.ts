import { emptyHead, type Head } from '../claims/head.js';
import { holdText } from '../claims/lease.js';
import type { Rules } from '../claims/policy.js';
import type { TaskClaim } from '../contract/claim-records.js';
import type { ProjectStatus, WaitingSubject } from '../contract/overview.js';
import { READINESS, type Readiness } from '../contract/values.js';
import { isoTime } from '../events/envelope.js';
import { subjectsWithOpenClaim } from '../heads/claim-index.js';
import { runAtOnce, type SliceableWork } from '../sliceable-work.js';
import type { FoldContext } from './fold-context.js';
import { progressInSlices } from './progress.js';
import type { WorkWithParked } from './project-state.js';
import { taskStateIn } from './task-state.js';

/** Maximum length of the lists; the counts include everything. */
export const STATUS_LIST_MAX = 1000;

export const projectStatus = (state: WorkWithParked, context: FoldContext): ProjectStatus =>
  runAtOnce(statusInSlices(state, context));

const SUBJECTS_BETWEEN_PAUSES = 50;

/**
 * The status. The position is read at the start. If claims change during a pause, each subject is counted in the state that
 * it has when it is visited.
 */
export function* statusInSlices(state: WorkWithParked, context: FoldContext): SliceableWork<ProjectStatus> {
  const { position, last_updated } = state;
  const parked = [...state.parked].map(([task_id, resultIds]) => ({ task_id, parked: resultIds.size }));
  return {
    ...context.key,
    position,
    last_updated,
    ...(yield* countsAndWaiting(state, context)),
    ...(yield* progressInSlices(state, context)),
    claims: liveClaims(state, context),
    parked: parked.sort(byTaskId).slice(0, STATUS_LIST_MAX),
  };
}

function* countsAndWaiting(
  state: WorkWithParked,
  context: FoldContext,
): SliceableWork<Pick<ProjectStatus, 'counts' | 'waiting'>> {
  const counts = Object.fromEntries(READINESS.map((readiness) => [readiness, 0])) as Record<
    Readiness,
    number
  >;
  const waiting: WaitingSubject[] = [];
  let visited = 0;
  for (const subject of allSubjectsOf(state)) {
    visited += 1;
    if (visited % SUBJECTS_BETWEEN_PAUSES === 0) yield;
    if (state.heads.isCompleted(subject)) {
      counts.completed += 1;
      continue;
    }
    const { readiness } = taskStateIn(state, subject, context);
    counts[readiness] += 1;
    const head = state.heads.get(subject) ?? emptyHead(subject);
    const wait = waitOf(head, readiness, context.rulesOf(subject), context.now_ms);
    if (wait !== null) waiting.push({ task_id: subject, readiness, ...wait });
  }
  return { counts, waiting: waiting.sort(byTaskId).slice(0, STATUS_LIST_MAX) };
}

/** The subjects of the plan, then those with a head but not in the plan: edges, and removed tasks. */
function* allSubjectsOf(state: WorkWithParked): Generator<string> {
  yield* state.plan.subjects();
  for (const subject of state.heads.keys()) if (!state.plan.has(subject)) yield subject;
}

/** Who must act on a subject that agents alone cannot advance, and why; null if they can. */
function waitOf(
  head: Head,
  readiness: Readiness,
  rules: Rules,
  nowMs: number,
): Pick<WaitingSubject, 'waits_for' | 'reason'> | null {
  const { claim, generation } = head;
  switch (readiness) {
    case 'held':
      return { waits_for: 'a person to unhold it', reason: holdText(head, nowMs, rules) ?? '' };
    case 'stale': {
      const reason = `${claim?.agent_id} holds it and has been inactive since ${isoTime(claim?.active_at_ms ?? 0)}`;
      return { waits_for: `${claim?.agent_id}, or a person to release it`, reason };
    }
    case 'suspended': {
      const until = isoTime(claim?.suspended_until_ms ?? 0);
      const reason = `${claim?.agent_id} holds it and waits for a decision until ${until}`;
      return { waits_for: 'a person to review it', reason };
    }
    case 'exhausted': {
      const reason = `generation ${generation} is the last of the ${rules.max_generations_per_task} allowed`;
      return { waits_for: 'an admin to raise max_generations_per_task', reason };
    }
    default:
      return null;
  }
}

/** Live claims, at most `STATUS_LIST_MAX`. A claim that has lapsed is excluded, whether or not its expiry is recorded. */
export function liveClaims(state: WorkWithParked, context: FoldContext): TaskClaim[] {
  return [...subjectsWithOpenClaim(state)]
    .map((subject) => taskStateIn(state, subject, context).claim)
    .filter((claim) => claim !== null)
    .filter((claim) => claim.state !== 'EXPIRED')
    .sort(byTaskId)
    .slice(0, STATUS_LIST_MAX);
}

const byTaskId = (a: { task_id: string }, b: { task_id: string }): number => (a.task_id < b.task_id ? -1 : 1);
