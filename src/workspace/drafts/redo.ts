import { z } from 'zod';
import { eventName, factOf } from '../../core/claims/facts.js';
import { isApprovedByHuman } from '../../core/claims/human-approval.js';
import type { Payloads } from '../../core/claims/payloads.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { isCommanding } from '../../core/graph/guarded-paths.js';
import {
  claimsFiles,
  dataIn,
  MANIFEST_BYTES_MAX,
  type Manifest,
  readManifest,
} from '../../core/graph/manifest.js';
import { kindOf } from '../../core/subject.js';
import type { Store } from '../../stores/store.js';
import { type ProjectPlace, type Shelf, workspaceNames } from './places.js';
import { type AcceptedManifest, type Failure, type Promotion, promote } from './promote.js';
import { isRead, NO_STEPS, readBelow, type Steps } from './safe-read.js';
import { writeBelow } from './safe-write.js';

export interface Log extends Shelf {
  readonly store: Pick<Store, 'events' | 'project'>;
}

/** Up to where the log's results were promoted. A cache: without it everything is looked at again. */
const watermarkSchema = z.strictObject({
  position: z.number().int().min(0),
  /** Of the event at that position: another log has another. */
  event_id: z.string().nullable(),
  /** Positions before it whose bytes were missing. */
  unfinished: z.array(z.number().int().min(1)),
});
type Watermark = z.infer<typeof watermarkSchema>;

const START: Watermark = { position: 0, event_id: null, unfinished: [] };
const PAGE = 500;
const ANY_EDGE = 'feature#edge';
const REVIEWING = [eventName('reviewed', ANY_EDGE)];
const ACCEPTING = [eventName('accepted', ANY_EDGE), eventName('adopted', ANY_EDGE)];

const underWay = new Map<string, Promise<unknown>>();

/**
 * Promotes what the log has accepted and nobody has promoted yet, in the order of the log. Called on start and after
 * every commit that accepts: there is one way, so a promotion that was cut short is simply done.
 */
export function promoteAccepted(place: ProjectPlace, log: Log, steps: Steps = NO_STEPS): Promise<Promotion> {
  const before = underWay.get(place.root) ?? Promise.resolve();
  const mine = before.then(() => promoteNow(place, log, steps));
  const settled = mine.catch(() => {});
  underWay.set(place.root, settled);
  void settled.then(() => underWay.get(place.root) === settled && underWay.delete(place.root));
  return mine;
}

async function promoteNow(place: ProjectPlace, log: Log, steps: Steps): Promise<Promotion> {
  const from = await readWatermark(place, log);
  const position = (await log.store.project(log.key))?.position ?? 0;
  const accepted: AcceptedManifest[] = [];
  const broken: Failure[] = [];
  for await (const event of acceptances(log, from, position)) {
    const read = await manifestOf(log, event);
    if (read !== null && 'manifest' in read) accepted.push(read);
    else if (read !== null) broken.push(read);
  }
  await steps('read', '');
  const promotion = await promote(place, log, accepted, steps);
  const failures = [...broken, ...promotion.failures];
  // A mark costs more than to pass a few events without files once more.
  const nothing = accepted.length === 0 && failures.length === 0;
  if (nothing && position - from.position < PAGE) return promotion;
  const again = failures.filter((failure) => failure.again).map((failure) => failure.position);
  const unfinished = [...new Set(again)].sort((a, b) => a - b);
  await writeWatermark(place, { position, event_id: await eventIdAt(log, position), unfinished });
  await steps('marked', '');
  return { ...promotion, failures };
}

async function* acceptances(
  log: Log,
  from: Watermark,
  until_position: number,
): AsyncGenerator<EventEnvelope> {
  for (const position of from.unfinished)
    yield* await log.store.events(log.key, { after: position - 1, limit: 1 });
  for (let after = from.position; ; ) {
    const page = await log.store.events(log.key, { after, limit: PAGE, types: ACCEPTING, until_position });
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.position ?? until_position;
  }
}

/** Null: not a result of ours, or none of files. What others wrote carries no place among the events of its subject. */
async function manifestOf(log: Log, event: EventEnvelope): Promise<AcceptedManifest | Failure | null> {
  const { subject, seq, position, generation = 0 } = event;
  if (subject === undefined || seq === undefined || kindOf(subject) !== 'edge') return null;
  const payload = event.payload as unknown as Payloads['accepted'] | Payloads['adopted'];
  const data = await dataOf(log, payload);
  if (data === MISSING) return { position, path: '', says: 'No blob holds the result.', again: true };
  if (!claimsFiles(data)) return null;
  const read = readManifest(data);
  if (!read.ok)
    return { position, path: read.path, says: `The manifest is none: ${read.message}.`, again: false };
  const adopted = factOf(event.event_type) === 'adopted' ? (payload as Payloads['adopted']) : null;
  const agent_id = adopted?.adopted_from.agent_id ?? event.agent_id;
  const { manifest } = read;
  const human_approved = !asksHuman(manifest) || (await hasApproval(log, event));
  return { subject, generation, position, agent_id, manifest, human_approved };
}

const asksHuman = ({ files }: Manifest): boolean => files.some(({ path }) => isCommanding(path));

/** Looked for in the log, whoever wrote it: an older version asked no human, and a remote may not have asked one. */
async function hasApproval(log: Log, event: EventEnvelope): Promise<boolean> {
  const { subject = '', position } = event;
  for (let after = 0; ; ) {
    const query = { after, limit: PAGE, types: REVIEWING, subject, until_position: position };
    const reviews = await log.store.events(log.key, query);
    if (isApprovedByHuman(event, reviews)) return true;
    if (reviews.length < PAGE) return false;
    after = reviews.at(-1)?.position ?? position;
  }
}

const MISSING = Symbol('the blob of a result is missing');

async function dataOf(log: Log, payload: Payloads['accepted'] | Payloads['adopted']): Promise<unknown> {
  const { blob_sha256, result_data } = payload;
  if (blob_sha256 === undefined) return result_data;
  const { tenant_id } = log.key;
  const size_bytes = await log.blobs.size(tenant_id, blob_sha256);
  if (size_bytes !== null && size_bytes > MANIFEST_BYTES_MAX) return null;
  const bytes = await log.blobs.get(tenant_id, blob_sha256);
  return bytes === null ? MISSING : dataIn(bytes);
}

const watermarkPath = (place: ProjectPlace): string[] => [
  ...workspaceNames(place),
  'events',
  'promoted.json',
];

async function readWatermark(place: ProjectPlace, log: Log): Promise<Watermark> {
  const read = await readBelow(place.root, watermarkPath(place).join('/'), { links: 'any' });
  if (!isRead(read)) return START;
  const { success, data } = watermarkSchema.safeParse(dataIn(read.bytes));
  return success && data.event_id === (await eventIdAt(log, data.position)) ? data : START;
}

async function eventIdAt(log: Log, position: number): Promise<string | null> {
  if (position === 0) return null;
  const [event] = await log.store.events(log.key, { after: position - 1, limit: 1 });
  return event?.position === position ? event.event_id : null;
}

async function writeWatermark(place: ProjectPlace, now: Watermark): Promise<void> {
  await writeBelow(place.root, watermarkPath(place), { bytes: Buffer.from(`${JSON.stringify(now)}\n`) });
}
