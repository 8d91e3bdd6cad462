import { blobsOf } from '../../coordinator/transfer/archive.js';
import { isProblem, isUndecided, type Problem } from '../../coordinator/wire/problem.js';
import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { ClaimResult } from '../../core/contract/claim-replies.js';
import { type EventEnvelope, isoTime, type NewEvent } from '../../core/events/envelope.js';
import type { Feature } from '../../core/methodology/definition/methodology.js';
import type { WorkspaceTexts } from '../../core/methodology/definition/read/workspace-files.js';
import { parseMethodology } from '../../core/methodology/definition/read-methodology.js';
import { serializeFeature } from '../../core/methodology/definition/serialize-feature.js';
import type { RecordHead } from '../../core/record.js';
import { featureSubject, METHODOLOGY_SUBJECT } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { eventsUntil } from '../event-pages.js';
import { isAcceptingReview, type PushAction, pushActionFor, type RemoteHandle } from './push-action.js';
import { type RemoteCommand, RemoteUnavailable, type SyncRemote } from './remote.js';
import { writeCursor } from './sync-file.js';
import { readSyncState } from './sync-state.js';
import {
  isSyncRefusal,
  type LocalLog,
  type SyncOptions,
  type SyncRefusal,
  type SyncWorkspace,
} from './sync-workspace.js';

const PAGE_SIZE = 1000;
const IMPORT_CHARS_MAX = 384 * 1024;
const IMPORT_EVENTS_MAX = 256;
/** Maximum number of refused events, and of events not sent, that a report lists; its counts include all. */
const LISTED_MAX = 200;

export interface UnsentEvent {
  readonly position: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly subject: string | null;
  /** The remote's code, or a sentence that says why it was not sent. */
  readonly reason: string;
  /** The current holder of the refused claim's subject. */
  readonly holder?: string;
  readonly next?: string;
}

/** A claim granted offline, and its generation and id at the remote. */
interface RemappedClaim {
  readonly subject: string;
  readonly agent_id: string;
  readonly session_id: string;
  readonly local_generation: number;
  readonly generation: number;
  readonly claim_id: string | null;
}

export interface PushReport {
  /** The offline events: from the first position after the common part to the last local one. */
  readonly from: number;
  readonly to: number;
  sent: number;
  refused_count: number;
  not_sent_count: number;
  readonly refused: UnsentEvent[];
  readonly not_sent: UnsentEvent[];
  readonly claims: RemappedClaim[];
}

/**
 * Sends the offline events to the remote in order, except those that `pushActionFor` skips or keeps local. Each is imported,
 * or sent as the command that would have produced it, under its own id, so that sending it twice takes effect once. A claim
 * is a proposal: if it is refused, nothing that depends on it is sent, and those events stay local.
 */
export async function push(
  workspace: SyncWorkspace,
  local: LocalLog,
  remote: SyncRemote,
  texts: WorkspaceTexts,
  { now_ms, onStep }: SyncOptions,
): Promise<PushReport | SyncRefusal> {
  const state = await readSyncState(workspace, local.store, remote);
  if (isSyncRefusal(state)) return state;
  const { common_position, local_position, remote_position, cursor } = state;
  const run = new PushRun(
    local,
    remote,
    workspace,
    { from: common_position + 1, to: local_position },
    onStep,
    remote_position === 0,
  );
  if (local_position > common_position) {
    await run.configure(texts);
    await run.sendOfflineEvents(common_position, local_position);
  }
  await onStep('pushed');
  await writeCursor(workspace, remote.name, {
    replicated_position: common_position,
    pushed_position: local_position,
    last_pull: cursor?.last_pull ?? null,
    last_push: isoTime(now_ms),
  });
  return run.report;
}

/** Adds a file for each spawned feature, because spawned features have none in the workspace. */
async function withSpawnedFeatures(
  texts: WorkspaceTexts,
  store: Store,
  projectKey: ProjectKey,
): Promise<WorkspaceTexts> {
  const { files, unreadable } = texts;
  const parsed = parseMethodology(files, unreadable);
  if (!parsed.ok) return texts;
  const idsInFiles = new Set(parsed.features.map(({ feature_id }) => feature_id));
  const allFiles = new Map(files);
  for (let after = featureSubject(''); ; ) {
    const page = (await store.scanHeads(projectKey, { after, limit: PAGE_SIZE })) as RecordHead[];
    const features = page.filter(({ subject }) => subject.startsWith(featureSubject('')));
    for (const { value } of features) {
      const feature = value as unknown as Feature;
      const { feature_id } = feature;
      if (!idsInFiles.has(feature_id))
        allFiles.set(`features/active/${feature_id}.yml`, serializeFeature(feature));
    }
    const last = page.at(-1);
    if (last === undefined || features.length < page.length) return { files: allFiles, unreadable };
    after = last.subject;
  }
}

class PushRun {
  readonly report: PushReport;
  /** The remote handle of each claim granted offline; null if it was refused. */
  private readonly handles = new Map<string, RemoteHandle | null>();
  private pendingImports: NewEvent[] = [];
  private pendingImportChars = 0;

  constructor(
    private readonly local: LocalLog,
    private readonly remote: SyncRemote,
    private readonly workspace: SyncWorkspace,
    range: { from: number; to: number },
    private readonly onStep: SyncOptions['onStep'],
    /** Whether the remote has no such project yet. */
    private mustCreate: boolean,
  ) {
    const counts = { sent: 0, refused_count: 0, not_sent_count: 0 };
    this.report = { ...range, ...counts, refused: [], not_sent: [], claims: [] };
  }

  /** Sends the configuration. A project without local configuration needs none at the remote. */
  async configure(texts: WorkspaceTexts): Promise<void> {
    const { store } = this.local;
    const { key } = this.workspace;
    const [configured] = await store.heads(key, [METHODOLOGY_SUBJECT]);
    if (configured == null) return;
    this.mustCreate = false;
    await this.onStep('configure');
    const problem = await this.remote.configure(await withSpawnedFeatures(texts, store, key));
    if (problem !== null) this.addRefused(CONFIGURATION, assertDecided(problem));
  }

  async sendOfflineEvents(after: number, until_position: number): Promise<void> {
    const log = { store: this.local.store, key: this.workspace.key };
    let approval: EventEnvelope | null = null;
    for await (const event of eventsUntil(log, { after, until_position })) {
      const pendingApproval: EventEnvelope | null = approval;
      approval = null;
      if (pendingApproval !== null && (await this.pushApproval(pendingApproval, event))) continue;
      if (isAcceptingReview(event)) approval = event;
      else await this.pushEvent(event);
    }
    if (approval !== null) await this.pushEvent(approval);
    await this.flushImports();
  }

  /**
   * Pushes an approval, with the id of the result that it accepted if `next` is that result. Returns whether the remote has
   * then accepted both, so that `next` need not be pushed.
   */
  private async pushApproval(approval: EventEnvelope, next: EventEnvelope): Promise<boolean> {
    const isItsResult =
      claimEventKindOf(next.event_type) === 'accepted' &&
      next.subject === approval.subject &&
      next.seq === (approval.seq ?? 0) + 1;
    if (!isItsResult) {
      await this.pushEvent(approval);
      return false;
    }
    const sentBefore = this.report.sent;
    await this.pushEvent(approval, next.event_id);
    if (this.report.sent === sentBefore) return false;
    this.report.sent += 1;
    return true;
  }

  private async pushEvent(event: EventEnvelope, acceptedEventId?: string): Promise<void> {
    const handle = this.handles.get(claimKey(event));
    // A claim granted before the workspace went offline has the same generation at the remote.
    const action = pushActionFor(event, handle ?? { generation: event.generation ?? 0 }, acceptedEventId);
    if (action.kind === 'skip') return;
    if (handle === null && claimEventKindOf(event.event_type) !== 'granted') {
      return this.addNotSent(event, 'the claim that it depends on was refused');
    }
    if (action.kind === 'import') return this.queueImport(event);
    if (action.kind === 'not_sent') return this.addNotSent(event, action.because);
    // The remote must have all earlier events first.
    await this.flushImports();
    await this.createProject();
    await this.onStep(`send ${event.position}`);
    await this.send(event, action);
  }

  /** Commands are refused in a project that does not exist; the configuration and imported events create it. */
  private async createProject(): Promise<void> {
    if (!this.mustCreate) return;
    this.mustCreate = false;
    await this.onStep('create');
    const problem = await this.remote.create();
    if (problem !== null) assertDecided(problem);
  }

  private async send(event: EventEnvelope, action: PushAction & { kind: 'send' }): Promise<void> {
    if (action.verb === 'submit') {
      const problem = await this.sendBlobs(event);
      if (problem !== null) return this.addRefused(event, problem);
    }
    const reply = assertDecided(await this.remote[action.verb](action.body));
    if (action.verb === 'claim') this.recordClaim(event, reply as ClaimResult | Problem);
    if (isDelivered(action.verb, reply)) this.report.sent += 1;
    else this.addRefused(event, reply);
  }

  /** Skips blobs that are missing locally: the remote may have them, and then accepts the submission. */
  private async sendBlobs(event: EventEnvelope): Promise<Problem | null> {
    const { tenant_id } = this.workspace.key;
    const localBlob = (sha256: string) => this.local.blobs.get(tenant_id, sha256);
    for await (const { blob_sha256, bytes } of blobsOf(event, localBlob)) {
      const problem = await this.remote.putBlob(blob_sha256, bytes);
      if (problem !== null) return assertDecided(problem);
    }
    return null;
  }

  private recordClaim(event: EventEnvelope, reply: ClaimResult | Problem): void {
    // A remote may send anything, also a grant without a claim.
    const claim = isProblem(reply) || !reply.success ? null : (reply.claim ?? null);
    this.handles.set(claimKey(event), claim && { generation: claim.generation, claim_id: claim.id });
    if (claim === null) return;
    const { subject = '', agent_id, session_id = '', generation: local_generation = 0 } = event;
    const { generation, id } = claim;
    const remapped = { local_generation, generation, claim_id: id ?? null };
    this.report.claims.push({ subject, agent_id, session_id, ...remapped });
  }

  private async queueImport(event: EventEnvelope): Promise<void> {
    const { position: _, ...newEvent } = event;
    const chars = JSON.stringify(newEvent).length;
    if (
      this.pendingImports.length >= IMPORT_EVENTS_MAX ||
      this.pendingImportChars + chars > IMPORT_CHARS_MAX
    ) {
      await this.flushImports();
    }
    this.pendingImports.push(newEvent);
    this.pendingImportChars += chars;
    await this.sendBlobs(event);
  }

  private async flushImports(): Promise<void> {
    const events = this.pendingImports;
    this.pendingImports = [];
    this.pendingImportChars = 0;
    if (events.length === 0) return;
    this.mustCreate = false;
    await this.onStep('import');
    const reply = assertDecided(await this.remote.importEvents(events));
    if (!isProblem(reply)) this.report.sent += events.length;
    else for (const event of events) this.addRefused({ ...event, position: 0 }, reply);
  }

  private addRefused(event: EventRef, reply: object): void {
    this.report.refused_count += 1;
    if (this.report.refused.length < LISTED_MAX)
      this.report.refused.push({ ...eventRef(event), ...refusalFields(reply) });
  }

  private addNotSent(event: EventRef, reason: string): void {
    this.report.not_sent_count += 1;
    if (this.report.not_sent.length < LISTED_MAX) this.report.not_sent.push({ ...eventRef(event), reason });
  }
}

/** Stands for the configuration in reports. It is not an event, and comes before all of them. */
const CONFIGURATION = {
  position: 0,
  event_id: '',
  event_type: 'METHODOLOGY_CHANGED',
  subject: METHODOLOGY_SUBJECT,
};

const claimKey = ({ subject = '', generation = 0 }: EventEnvelope): string => `${subject}\n${generation}`;

type EventRef = Pick<EventEnvelope, 'position' | 'event_id' | 'event_type' | 'subject'>;

const eventRef = ({ position, event_id, event_type, subject }: EventRef) => {
  return { position, event_id, event_type, subject: subject ?? null };
};

/** Throws on an undecided reply, which is not a refusal: the push stops here and can be repeated. */
function assertDecided<T extends object>(reply: T): T {
  if (isUndecided(reply)) {
    throw new RemoteUnavailable(`${reply.detail} Run gen sync push again: it continues where it stopped.`);
  }
  return reply;
}

function isDelivered(verb: RemoteCommand, reply: object): boolean {
  if (isProblem(reply)) return false;
  const { success, accepted, reason } = reply as { success?: boolean; accepted?: boolean; reason?: string };
  if (verb !== 'submit') return success === true;
  // An escalated result has been delivered; it waits for a person.
  return accepted === true || reason === 'ESCALATED';
}

function refusalFields(reply: object): Pick<UnsentEvent, 'reason' | 'holder' | 'next'> {
  if (isProblem(reply)) return { reason: reply.problem, next: reply.detail };
  type RefusedReply = { reason?: string; current_holder?: string | null; next?: string };
  const { reason = '', current_holder, next } = reply as RefusedReply;
  return { reason, ...withoutUndefined({ holder: current_holder ?? undefined, next }) };
}
