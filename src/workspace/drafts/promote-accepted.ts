import { z } from 'zod';
import { claimEventKindOf, claimEventType } from '../../core/claims/claim-event-kinds.js';
import { isApprovedByHuman } from '../../core/claims/human-approval.js';
import type { ClaimEventPayloads } from '../../core/claims/payloads.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { isToolConfig } from '../../core/methodology/definition/guarded-paths.js';
import {
  isFilesResult,
  MANIFEST_BYTES_MAX,
  parseManifest,
  parseResultBlob,
  type ResultManifest,
} from '../../core/methodology/definition/manifest.js';
import { subjectKindOf } from '../../core/subject.js';
import type { Store } from '../../stores/store.js';
import { type ProjectBlobs, type ProjectFolder, workspaceSegments } from './draft-folders.js';
import { type AcceptedManifest, type Promotion, type PromotionFailure, promote } from './promote.js';
import { isFileContent, noopStepHook, readBelow, type StepHook } from './safe-read.js';
import { writeBelow } from './safe-write.js';

export interface PromotionLog extends ProjectBlobs {
  readonly store: Pick<Store, 'events' | 'project'>;
}

/** How far the log's results have been promoted. A cache: without it the whole log is examined again. */
const watermarkSchema = z.strictObject({
  position: z.number().int().min(0),
  /** The id of the event at that position, which tells this log from another. */
  event_id: z.string().nullable(),
  /** Earlier positions whose blobs were missing, to be retried. */
  unfinished: z.array(z.number().int().min(1)),
});
type Watermark = z.infer<typeof watermarkSchema>;

const INITIAL_WATERMARK: Watermark = { position: 0, event_id: null, unfinished: [] };
const PAGE_SIZE = 500;
const ANY_EDGE = 'feature#edge';
const REVIEW_EVENTS = [claimEventType('reviewed', ANY_EDGE)];
const ACCEPTING_EVENTS = [claimEventType('accepted', ANY_EDGE), claimEventType('adopted', ANY_EDGE)];

const runningByRoot = new Map<string, Promise<unknown>>();

/**
 * Promotes accepted results that have not been promoted yet, in log order. Runs at startup and after every commit
 * that accepts a result, so an interrupted promotion is completed by the next run.
 */
export function promoteAccepted(
  project: ProjectFolder,
  log: PromotionLog,
  onStep: StepHook = noopStepHook,
): Promise<Promotion> {
  const previous = runningByRoot.get(project.root) ?? Promise.resolve();
  const promotion = previous.then(() => promoteNow(project, log, onStep));
  const settled = promotion.catch(() => {});
  runningByRoot.set(project.root, settled);
  void settled.then(() => runningByRoot.get(project.root) === settled && runningByRoot.delete(project.root));
  return promotion;
}

async function promoteNow(
  projectFolder: ProjectFolder,
  log: PromotionLog,
  onStep: StepHook,
): Promise<Promotion> {
  const from = await readWatermark(projectFolder, log);
  const position = (await log.store.project(log.key))?.position ?? 0;
  const accepted: AcceptedManifest[] = [];
  const broken: PromotionFailure[] = [];
  for await (const event of acceptingEvents(log, from, position)) {
    const read = await acceptedManifestOf(log, event);
    if (read !== null && 'manifest' in read) accepted.push(read);
    else if (read !== null) broken.push(read);
  }
  await onStep('read', '');
  const promotion = await promote(projectFolder, log, accepted, onStep);
  const failures = [...broken, ...promotion.failures];
  // Writing the watermark costs more than rereading a few events without files.
  const nothing = accepted.length === 0 && failures.length === 0;
  if (nothing && position - from.position < PAGE_SIZE) return promotion;
  const again = failures.filter((failure) => failure.again).map((failure) => failure.position);
  const unfinished = [...new Set(again)].sort((a, b) => a - b);
  await writeWatermark(projectFolder, { position, event_id: await eventIdAt(log, position), unfinished });
  await onStep('marked', '');
  return { ...promotion, failures };
}

async function* acceptingEvents(
  log: PromotionLog,
  from: Watermark,
  until_position: number,
): AsyncGenerator<EventEnvelope> {
  for (const position of from.unfinished)
    yield* await log.store.events(log.key, { after: position - 1, limit: 1 });
  for (let after = from.position; ; ) {
    const page = await log.store.events(log.key, {
      after,
      limit: PAGE_SIZE,
      types: ACCEPTING_EVENTS,
      until_position,
    });
    yield* page;
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1)?.position ?? until_position;
  }
}

/**
 * Null if the event is not a result of this coordinator, or has no files. Events imported from other tools carry no
 * `seq`.
 */
async function acceptedManifestOf(
  log: PromotionLog,
  event: EventEnvelope,
): Promise<AcceptedManifest | PromotionFailure | null> {
  const { subject, seq, position, generation = 0 } = event;
  if (subject === undefined || seq === undefined || subjectKindOf(subject) !== 'edge') return null;
  const payload = event.payload as unknown as ClaimEventPayloads['accepted'] | ClaimEventPayloads['adopted'];
  const data = await resultDataOf(log, payload);
  if (data === MISSING_BLOB) return { position, path: '', says: 'No blob holds the result.', again: true };
  if (!isFilesResult(data)) return null;
  const read = parseManifest(data);
  if (!read.ok)
    return { position, path: read.path, says: `The manifest is none: ${read.message}.`, again: false };
  const adopted =
    claimEventKindOf(event.event_type) === 'adopted' ? (payload as ClaimEventPayloads['adopted']) : null;
  const agent_id = adopted?.adopted_from.agent_id ?? event.agent_id;
  const { manifest } = read;
  const human_approved = !needsApproval(manifest) || (await hasApproval(log, event));
  return { subject, generation, position, agent_id, manifest, human_approved };
}

const needsApproval = ({ files }: ResultManifest): boolean => files.some(({ path }) => isToolConfig(path));

/**
 * Searches the log for the approval instead of trusting the writer: an older version or a remote may not have asked
 * for one.
 */
async function hasApproval(log: PromotionLog, event: EventEnvelope): Promise<boolean> {
  const { subject = '', position } = event;
  for (let after = 0; ; ) {
    const query = { after, limit: PAGE_SIZE, types: REVIEW_EVENTS, subject, until_position: position };
    const reviews = await log.store.events(log.key, query);
    if (isApprovedByHuman(event, reviews)) return true;
    if (reviews.length < PAGE_SIZE) return false;
    after = reviews.at(-1)?.position ?? position;
  }
}

const MISSING_BLOB = Symbol('the blob of a result is missing');

async function resultDataOf(
  log: PromotionLog,
  payload: ClaimEventPayloads['accepted'] | ClaimEventPayloads['adopted'],
): Promise<unknown> {
  const { blob_sha256, result_data } = payload;
  if (blob_sha256 === undefined) return result_data;
  const { tenant_id } = log.key;
  const sizeBytes = await log.blobs.size(tenant_id, blob_sha256);
  if (sizeBytes !== null && sizeBytes > MANIFEST_BYTES_MAX) return null;
  const bytes = await log.blobs.get(tenant_id, blob_sha256);
  return bytes === null ? MISSING_BLOB : parseResultBlob(bytes);
}

const watermarkPath = (project: ProjectFolder): string[] => [
  ...workspaceSegments(project),
  'events',
  'promoted.json',
];

async function readWatermark(project: ProjectFolder, log: PromotionLog): Promise<Watermark> {
  const read = await readBelow(project.root, watermarkPath(project).join('/'), { links: 'any' });
  if (!isFileContent(read)) return INITIAL_WATERMARK;
  const { success, data } = watermarkSchema.safeParse(parseResultBlob(read.bytes));
  return success && data.event_id === (await eventIdAt(log, data.position)) ? data : INITIAL_WATERMARK;
}

async function eventIdAt(log: PromotionLog, position: number): Promise<string | null> {
  if (position === 0) return null;
  const [event] = await log.store.events(log.key, { after: position - 1, limit: 1 });
  return event?.position === position ? event.event_id : null;
}

async function writeWatermark(project: ProjectFolder, now: Watermark): Promise<void> {
  await writeBelow(project.root, watermarkPath(project), { bytes: Buffer.from(`${JSON.stringify(now)}\n`) });
}
