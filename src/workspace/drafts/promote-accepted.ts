import { z } from 'zod';
import { claimEventType } from '../../core/claims/claim-event-kinds.js';
import { isApprovedByHuman } from '../../core/claims/human-approval.js';
import type { ResultFields } from '../../core/events/claim-payload-schemas.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { asKnownEvent } from '../../core/events/known-event.js';
import { isToolConfig } from '../../core/methodology/definition/guarded-paths.js';
import {
  isFilesResult,
  MANIFEST_BYTES_MAX,
  parseManifest,
  parseResultBlob,
} from '../../core/methodology/definition/manifest.js';
import { subjectKindOf } from '../../core/subject.js';
import type { Store } from '../../stores/store.js';
import { eventsUntil } from '../event-pages.js';
import { WORKSPACE_FOLDER } from '../workspace.js';
import type { ProjectBlobs, ProjectFolder } from './draft-paths.js';
import { type AcceptedManifest, type Promotion, type PromotionFailure, promote } from './promote.js';
import { isFileContent, noopStepHook, readBelow, type StepHook } from './safe-read.js';
import { writeBelow } from './safe-write.js';

export interface PromotionLog extends ProjectBlobs {
  readonly store: Pick<Store, 'events' | 'project'>;
}

/** How far the log's results have been promoted. A cache: without it the whole log is examined again. */
const watermarkSchema = z.strictObject({
  position: z.number().int().min(0),
  /** The id of the event at that position, which distinguishes this log from another. */
  event_id: z.string().nullable(),
  /** Earlier positions whose promotion failed because of a missing blob or a disk error. They are retried. */
  unfinished: z.array(z.number().int().min(1)),
});
type Watermark = z.infer<typeof watermarkSchema>;

const INITIAL_WATERMARK: Watermark = { position: 0, event_id: null, unfinished: [] };
const WATERMARK_FILE = `${WORKSPACE_FOLDER}/events/promoted.json`;
/** Rereading this many events without files costs less than writing the watermark. */
const REREAD_EVENTS_MAX = 500;
const ANY_EDGE = 'feature#edge';
const REVIEW_EVENTS = [claimEventType('reviewed', ANY_EDGE)];
export const ACCEPTING_EVENTS = [claimEventType('accepted', ANY_EDGE), claimEventType('adopted', ANY_EDGE)];

const runningByRoot = new Map<string, Promise<unknown>>();

/**
 * Promotes accepted results that have not been promoted yet, in log order. Runs at startup and after every commit
 * that accepts a result, so an interrupted promotion is completed by the next one.
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

async function promoteNow(project: ProjectFolder, log: PromotionLog, onStep: StepHook): Promise<Promotion> {
  const watermark = await readWatermark(project, log);
  const position = (await log.store.project(log.key))?.position ?? 0;
  const accepted: AcceptedManifest[] = [];
  const broken: PromotionFailure[] = [];
  for await (const event of acceptingEvents(log, watermark, position)) {
    const manifest = await acceptedManifestOf(log, event);
    if (manifest !== null && 'manifest' in manifest) accepted.push(manifest);
    else if (manifest !== null) broken.push(manifest);
  }
  await onStep('read', '');
  const promotion = await promote(project, log, accepted, onStep);
  const failures = [...broken, ...promotion.failures];
  const isEmpty = accepted.length === 0 && failures.length === 0;
  if (isEmpty && position - watermark.position < REREAD_EVENTS_MAX) return promotion;
  const retryable = failures.filter((failure) => failure.is_retryable).map((failure) => failure.position);
  const unfinished = [...new Set(retryable)].sort((a, b) => a - b);
  const nextWatermark: Watermark = { position, event_id: await eventIdAt(log, position), unfinished };
  const bytes = Buffer.from(`${JSON.stringify(nextWatermark)}\n`);
  await writeBelow(project.root, WATERMARK_FILE, { bytes });
  await onStep('marked', '');
  return { ...promotion, failures };
}

async function* acceptingEvents(
  log: PromotionLog,
  watermark: Watermark,
  until_position: number,
): AsyncGenerator<EventEnvelope> {
  for (const position of watermark.unfinished)
    yield* await log.store.events(log.key, { after: position - 1, limit: 1 });
  yield* eventsUntil(log, { after: watermark.position, types: ACCEPTING_EVENTS, until_position });
}

/**
 * The manifest that the event accepts. Null if the event is not a result of this coordinator, or has no files. Events
 * imported from other tools have no `seq`.
 */
async function acceptedManifestOf(
  log: PromotionLog,
  event: EventEnvelope,
): Promise<AcceptedManifest | PromotionFailure | null> {
  const { subject, seq, position, generation = 0 } = event;
  if (subject === undefined || seq === undefined || subjectKindOf(subject) !== 'edge') return null;
  const knownEvent = asKnownEvent(event);
  if (knownEvent?.event_type !== 'edge_converged' && knownEvent?.event_type !== 'result_adopted') return null;
  const data = await resultDataOf(log, knownEvent.payload);
  if (data === MISSING_BLOB) return { position, path: '', says: RESULT_BLOB_MISSING, is_retryable: true };
  if (!isFilesResult(data)) return null;
  const parsed = parseManifest(data);
  if (!parsed.ok)
    return {
      position,
      path: parsed.path,
      says: `The manifest is invalid: ${parsed.message}.`,
      is_retryable: false,
    };
  const { agent_id = knownEvent.agent_id } =
    knownEvent.event_type === 'result_adopted' ? knownEvent.payload.adopted_from : knownEvent;
  const { manifest } = parsed;
  const needsApproval = manifest.files.some(({ path }) => isToolConfig(path));
  const human_approved = !needsApproval || (await hasApproval(log, event));
  return { subject, generation, position, agent_id, manifest, human_approved };
}

/**
 * Whether a person has approved the result: the accepting event is itself of a person, or the log has an approval before
 * it. That the event exists is not enough: an older version or a remote may not have required an approval.
 */
async function hasApproval(log: PromotionLog, event: EventEnvelope): Promise<boolean> {
  const { subject = '', position: until_position } = event;
  if (isApprovedByHuman(event, [])) return true;
  for await (const review of eventsUntil(log, { after: 0, types: REVIEW_EVENTS, subject, until_position }))
    if (isApprovedByHuman(event, [review])) return true;
  return false;
}

const MISSING_BLOB = Symbol('the blob of a result is missing');

const RESULT_BLOB_MISSING =
  'The blob of this result is missing, so its files were not written. Restore it: the next promotion tries again.';

async function resultDataOf(
  log: PromotionLog,
  { blob_sha256, result_data }: Pick<ResultFields, 'blob_sha256' | 'result_data'>,
): Promise<unknown> {
  if (blob_sha256 === undefined) return result_data;
  const { tenant_id } = log.key;
  const sizeBytes = await log.blobs.size(tenant_id, blob_sha256);
  if (sizeBytes !== null && sizeBytes > MANIFEST_BYTES_MAX) return null;
  const bytes = await log.blobs.get(tenant_id, blob_sha256);
  return bytes === null ? MISSING_BLOB : parseResultBlob(bytes);
}

async function readWatermark({ root }: ProjectFolder, log: PromotionLog): Promise<Watermark> {
  const read = await readBelow(root, WATERMARK_FILE, { links: 'any' });
  if (!isFileContent(read)) return INITIAL_WATERMARK;
  const { success, data } = watermarkSchema.safeParse(parseResultBlob(read.bytes));
  return success && data.event_id === (await eventIdAt(log, data.position)) ? data : INITIAL_WATERMARK;
}

async function eventIdAt(log: PromotionLog, position: number): Promise<string | null> {
  if (position === 0) return null;
  const [event] = await log.store.events(log.key, { after: position - 1, limit: 1 });
  return event?.position === position ? event.event_id : null;
}
