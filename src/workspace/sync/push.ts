import { isProblem, isUndecided, type Problem } from '../../coordinator/problem.js';
import { blobsOf } from '../../coordinator/transfer/archive.js';
import type * as wire from '../../coordinator/wire.js';
import { factOf } from '../../core/claims/facts.js';
import { type EventEnvelope, isoTime, type NewEvent } from '../../core/events/envelope.js';
import type { FeatureVector } from '../../core/graph/methodology.js';
import { readMethodology } from '../../core/graph/read-methodology.js';
import { vectorText } from '../../core/graph/write-feature.js';
import type { RecordHead } from '../../core/record.js';
import { featureSubject, METHODOLOGY_SUBJECT } from '../../core/subject.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { standing } from './common.js';
import { isRefusal, type LocalLog, type SyncOptions, type SyncPlace, type SyncRefusal } from './place.js';
import { type Remote, RemoteUnavailable } from './remote.js';
import { readCursor, writeCursor } from './sync-file.js';
import { type RemoteHandle, stepFor, type TailStep, type Verb } from './tail-command.js';

const PAGE = 1000;
const IMPORT_CHARS = 384 * 1024;
const IMPORT_EVENTS = 256;
/** What is listed of a kind; all of it is counted. */
const LISTED_MAX = 200;

export interface Untold {
  readonly position: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly subject: string | null;
  /** The remote's code, or in words why it was not sent. */
  readonly reason: string;
  /** Who holds what was asked for. */
  readonly holder?: string;
  readonly next?: string;
}

/** A claim that was taken offline, and what it is called now. */
export interface MovedClaim {
  readonly subject: string;
  readonly agent_id: string;
  readonly session_id: string;
  readonly local_generation: number;
  readonly generation: number;
  readonly claim_id: string | null;
}

export interface PushReport {
  /** The tail: from the first position after what is shared to the last one here. */
  readonly from: number;
  readonly to: number;
  sent: number;
  refused_count: number;
  not_sent_count: number;
  readonly refused: Untold[];
  readonly not_sent: Untold[];
  readonly claims: MovedClaim[];
}

/**
 * Tells the remote, in order, what was done without it. Every event is sent as the command that would have made it,
 * under its own id, so that told twice it takes effect once. A claim is a proposal: where it is refused, nothing that
 * rests on it is sent, and all of it stays here.
 */
export async function push(
  place: SyncPlace,
  local: LocalLog,
  remote: Remote,
  files: ReadonlyMap<string, string>,
  { now_ms, onStep }: SyncOptions,
): Promise<PushReport | SyncRefusal> {
  const cursor = await readCursor(place, remote.name);
  const now = await standing(local.store, place.key, remote, cursor);
  if (isRefusal(now)) return now;
  const { common, local_position } = now;
  const pushing = new Push(local, remote, place, { from: common + 1, to: local_position }, onStep);
  if (local_position > common) {
    await pushing.configure(files);
    await pushing.tell(common, local_position);
  }
  await onStep('pushed');
  await writeCursor(place, remote.name, {
    replicated_position: common,
    pushed_position: local_position,
    last_pull: cursor?.last_pull ?? null,
    last_push: isoTime(now_ms),
  });
  return pushing.report;
}

/** Features that no file speaks of, since they were spawned, go with those that have one. */
async function withSpawned(
  files: ReadonlyMap<string, string>,
  store: Store,
  key: ProjectKey,
): Promise<ReadonlyMap<string, string>> {
  const reading = readMethodology(files);
  if (!reading.ok) return files;
  const written = new Set(reading.features.map(({ feature_id }) => feature_id));
  const all = new Map(files);
  for (let after = featureSubject(''); ; ) {
    const page = (await store.scanHeads(key, { after, limit: PAGE })) as RecordHead[];
    const vectors = page.filter(({ subject }) => subject.startsWith(featureSubject('')));
    for (const { value } of vectors) {
      const vector = value as unknown as FeatureVector;
      const { feature_id } = vector;
      if (!written.has(feature_id)) all.set(`features/active/${feature_id}.yml`, vectorText(vector));
    }
    const last = page.at(-1);
    if (last === undefined || vectors.length < page.length) return all;
    after = last.subject;
  }
}

class Push {
  readonly report: PushReport;
  /** What each claim that was granted here is there; null: it was refused. */
  private readonly handles = new Map<string, RemoteHandle | null>();
  private importing: NewEvent[] = [];
  private importing_chars = 0;

  constructor(
    private readonly local: LocalLog,
    private readonly remote: Remote,
    private readonly place: SyncPlace,
    range: { from: number; to: number },
    private readonly onStep: SyncOptions['onStep'],
  ) {
    this.report = {
      ...range,
      sent: 0,
      refused_count: 0,
      not_sent_count: 0,
      refused: [],
      not_sent: [],
      claims: [],
    };
  }

  /** A project that was never configured here has no rules of its own there either. */
  async configure(files: ReadonlyMap<string, string>): Promise<void> {
    const [configured] = await this.local.store.heads(this.place.key, [METHODOLOGY_SUBJECT]);
    if (configured == null) return;
    await this.onStep('configure');
    const fault = await this.remote.configure(await withSpawned(files, this.local.store, this.place.key));
    if (fault === null) return;
    this.report.refused_count += 1;
    this.report.refused.push({ ...CONFIGURATION, ...whyOf(assertAnswered(fault)) });
  }

  async tell(after: number, until_position: number): Promise<void> {
    for (let read = after; read < until_position; ) {
      const query = { after: read, until_position, limit: PAGE };
      const events = await this.local.store.events(this.place.key, query);
      for (const event of events) await this.take(event);
      read = events.at(-1)?.position ?? until_position;
    }
    await this.flushImports();
  }

  private async take(event: EventEnvelope): Promise<void> {
    const handle = this.handleOf(event);
    if (handle === null && factOf(event.event_type) !== 'granted') {
      return this.notSent(event, 'the claim that it rests on was refused');
    }
    const step = stepFor(event, handle ?? { generation: event.generation ?? 0 });
    if (step.kind === 'import') return this.import(event);
    if (step.kind === 'not_sent') return this.notSent(event, step.because);
    if (step.kind === 'skip') return;
    // The remote must have heard all that came before.
    await this.flushImports();
    await this.onStep(`send ${event.position}`);
    await this.send(event, step);
  }

  /** A claim that was granted before the workspace went offline has there the generation that it has here. */
  private handleOf(event: EventEnvelope): RemoteHandle | null {
    const generation = event.generation ?? 0;
    const known = this.handles.get(nameOf(event));
    return known === undefined ? { generation } : known;
  }

  private async send(event: EventEnvelope, step: TailStep & { kind: 'send' }): Promise<void> {
    if (step.verb === 'submit') {
      const fault = await this.sendBlobs(event);
      if (fault !== null) return this.refused(event, fault);
    }
    const reply = assertAnswered(await this.remote[step.verb](step.body));
    if (step.verb === 'claim') this.claimed(event, reply as wire.ClaimResult | Problem);
    if (isDone(step.verb, reply)) this.report.sent += 1;
    else this.refused(event, reply);
  }

  /** What is gone here may be there: then the submission that names it will be taken. */
  private async sendBlobs(event: EventEnvelope): Promise<Problem | null> {
    const { tenant_id } = this.place.key;
    const here = (sha256: string) => this.local.blobs.get(tenant_id, sha256);
    for await (const { blob_sha256, bytes } of blobsOf(event, here)) {
      const fault = await this.remote.putBlob(blob_sha256, bytes);
      if (fault !== null) return assertAnswered(fault);
    }
    return null;
  }

  private claimed(event: EventEnvelope, reply: wire.ClaimResult | Problem): void {
    const claim = isProblem(reply) || !reply.success ? null : (reply.claim ?? null);
    const { subject = '', agent_id, session_id = '', generation: local_generation = 0 } = event;
    if (claim === null) {
      this.handles.set(nameOf(event), null);
      return;
    }
    const { generation, id } = claim;
    this.handles.set(nameOf(event), { generation, ...(id === undefined ? {} : { claim_id: id }) });
    this.report.claims.push({
      subject,
      agent_id,
      session_id,
      local_generation,
      generation,
      claim_id: id ?? null,
    });
  }

  private async import(event: EventEnvelope): Promise<void> {
    const { position: _, ...said } = event;
    const chars = JSON.stringify(said).length;
    if (this.importing.length >= IMPORT_EVENTS || this.importing_chars + chars > IMPORT_CHARS) {
      await this.flushImports();
    }
    this.importing.push(said);
    this.importing_chars += chars;
    await this.sendBlobs(event);
  }

  private async flushImports(): Promise<void> {
    const events = this.importing;
    this.importing = [];
    this.importing_chars = 0;
    if (events.length === 0) return;
    await this.onStep('import');
    const reply = assertAnswered(await this.remote.importEvents(events));
    if (!isProblem(reply)) this.report.sent += events.length;
    else for (const event of events) this.refused({ ...event, position: 0 }, reply);
  }

  private refused(event: EventEnvelope, reply: Reply): void {
    this.report.refused_count += 1;
    if (this.report.refused.length < LISTED_MAX)
      this.report.refused.push({ ...placeOf(event), ...whyOf(reply) });
  }

  private notSent(event: EventEnvelope, reason: string): void {
    this.report.not_sent_count += 1;
    if (this.report.not_sent.length < LISTED_MAX) this.report.not_sent.push({ ...placeOf(event), reason });
  }
}

type Reply = object | Problem;

/** What the files say is no event of the tail, and stands before all of them. */
const CONFIGURATION = {
  position: 0,
  event_id: '',
  event_type: 'METHODOLOGY_CHANGED',
  subject: METHODOLOGY_SUBJECT,
};

const nameOf = ({ subject = '', generation = 0 }: EventEnvelope): string => `${subject}\n${generation}`;

const placeOf = ({ position, event_id, event_type, subject }: EventEnvelope) => ({
  position,
  event_id,
  event_type,
  subject: subject ?? null,
});

/** What may yet happen, or may have happened, is no refusal: the push ends here, and is run again. */
function assertAnswered<T extends Reply>(reply: T): T {
  if (isUndecided(reply)) {
    throw new RemoteUnavailable(`${reply.detail} Run it again: it goes on where it was.`);
  }
  return reply;
}

/** A result that has to wait for a human has arrived. */
const ARRIVED: ReadonlySet<unknown> = new Set(['ESCALATED']);

function isDone(verb: Verb, reply: Reply): boolean {
  if (isProblem(reply)) return false;
  const { success, accepted, reason } = reply as { success?: boolean; accepted?: boolean; reason?: string };
  return verb === 'submit' ? accepted === true || ARRIVED.has(reason) : success === true;
}

function whyOf(reply: Reply): Pick<Untold, 'reason' | 'holder' | 'next'> {
  if (isProblem(reply)) return { reason: reply.problem, next: reply.detail };
  const { reason = '', current_holder, next } = reply as Partial<wire.ClaimResult>;
  return {
    reason,
    ...(current_holder == null ? {} : { holder: current_holder }),
    ...(next === undefined ? {} : { next }),
  };
}
