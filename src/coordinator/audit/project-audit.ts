import { toBase64url } from '../../core/audit/audit-values.js';
import { type Checkpoint, checkpointText } from '../../core/audit/checkpoint.js';
import { type RecordSignature, signedRecordText } from '../../core/audit/signed-record.js';
import { isoTime } from '../../core/events/envelope.js';
import { StoreUnavailable } from '../../stores/store.js';
import { EventHistory } from '../queries/history.js';
import type { Project } from '../queue/project.js';
import { isProblem, type Problem } from '../wire/problem.js';
import { leafHashOf } from './audit-hash.js';
import { AuditRecords } from './audit-records.js';
import { SinkDelivery } from './delivery.js';
import { enrolmentOf } from './enrolment.js';
import { EventLeaves } from './event-leaves.js';
import { recordAlarm, recordCheckpoint, recordKey } from './record-checkpoint.js';
import { type AuditOptions, SigningFailed, signWith } from './signer.js';
import { TreeBuilder } from './tree-builder.js';

const DEFAULT_EVERY_EVENTS = 4096;
const DEFAULT_EVERY_MS = 60_000;
/** Keeps the event below 64 KiB. Tiles beyond it are listed by the next checkpoints. */
const TILES_LISTED_MAX = 1000;

/**
 * The audit tree of a loaded project. It is built behind the commits: from the leaves that the log passes on, or from
 * the store where it passes none. It continues from the last checkpoint, so nothing but the log is kept.
 */
export class ProjectAudit {
  readonly records: AuditRecords;
  readonly leaves: EventLeaves;
  private readonly deliveries: readonly SinkDelivery[];
  private tree: TreeBuilder | null = null;
  private running: Promise<void> | null = null;
  private lastTurn: Promise<unknown> = Promise.resolve();
  private lastRunMs: number;
  private isSigningFailed = false;
  /** Why no checkpoint could be written the last time; null if one could. */
  private signingAlarm: string | null = null;

  constructor(
    private readonly project: Project,
    private readonly options: AuditOptions | null,
  ) {
    this.records = new AuditRecords(project);
    this.leaves = new EventLeaves(new EventHistory(project.store, project.environment), project.key);
    this.deliveries = (options?.sinks ?? []).map(
      (sink) => new SinkDelivery(project.key, this.records, sink, ownKeysOf(options)),
    );
    this.lastRunMs = project.environment.clock.monotonicMs();
    project.onDurable = (firstPosition, leafHashes) => this.tree?.addLeaves(firstPosition, leafHashes);
  }

  get isDue(): boolean {
    const { every_events = DEFAULT_EVERY_EVENTS, every_ms = DEFAULT_EVERY_MS } = this.options ?? {};
    const newEvents = this.project.state.position - (this.records.last?.position ?? 0);
    const passedMs = this.project.environment.clock.monotonicMs() - this.lastRunMs;
    if (this.isSigningFailed) return true;
    return passedMs >= every_ms || (this.tree !== null && newEvents >= every_events);
  }

  /** The problem with the checkpoints or with writing them; null if there is none. */
  get alarm(): string | null {
    return this.records.alarm ?? this.signingAlarm;
  }

  /** Builds the tree from now on: what the log passes on meanwhile need not be read for the next checkpoint. */
  async startTree(): Promise<void> {
    if (this.tree !== null) return;
    await this.records.read();
    this.tree ??= new TreeBuilder(this.records.lastTree());
  }

  /** Sends the checkpoints to the sinks that do not have them. */
  async deliver(): Promise<void> {
    const nowMs = this.project.environment.clock.monotonicMs();
    await Promise.all(this.deliveries.map((delivery) => delivery.deliver(nowMs)));
  }

  /** Checkpoints that a sink has not confirmed yet. */
  get undelivered(): number {
    return this.deliveries.reduce((sum, { pending }) => sum + pending, 0);
  }

  /** Writes a checkpoint if there is something new. Callers that come meanwhile share it. */
  checkpoint(options: AuditOptions): Promise<void> {
    this.running ??= this.inTurn(() => this.tryCheckpoint(options)).finally(() => {
      this.lastRunMs = this.project.environment.clock.monotonicMs();
      this.running = null;
    });
    return this.running;
  }

  /**
   * Changes the keys, then has a checkpoint written soon: the change may have made it possible. No checkpoint is written
   * meanwhile: its key could end between the signature and the record.
   */
  changeKeys<T>(change: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      await this.records.read();
      const reply = await change();
      await this.records.read();
      this.lastRunMs = Number.NEGATIVE_INFINITY;
      return reply;
    });
  }

  /**
   * Adds the signature of this coordinator to a record that only a coordinator may write. Unchanged if the key cannot
   * be one of the project: then the record shows that no key vouches for it.
   */
  signed<T extends object>(
    options: AuditOptions,
    eventType: string,
    payload: T,
  ): Promise<T | (T & RecordSignature)> {
    return this.inTurn(async () => {
      await this.records.read();
      const fault = await this.enrol(options);
      // The record can be signed later. Recorded without a signature now, it would never be valid.
      if (isProblem(fault)) throw new StoreUnavailable(fault.detail);
      if (fault !== null) return payload;
      const { signer } = options;
      const { key } = this.project;
      const text = signedRecordText(key, eventType, { ...payload, key_id: signer.key_id });
      return { ...payload, key_id: signer.key_id, signature: await signWith(signer, text) };
    });
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.lastTurn.then(work);
    this.lastTurn = done.catch(() => {});
    return done;
  }

  /** If the signer fails, events that the last checkpoint does not cover wait for the next round. */
  private async tryCheckpoint(options: AuditOptions): Promise<void> {
    let alarm: string | null;
    try {
      alarm = await this.writeCheckpoint(options);
      this.isSigningFailed = false;
    } catch (error) {
      if (!(error instanceof SigningFailed)) throw error;
      this.isSigningFailed = true;
      alarm = error.message;
    }
    const isNew = alarm !== this.signingAlarm;
    this.signingAlarm = alarm;
    const { tenant_id, project_id } = this.project.key;
    if (alarm !== null && isNew)
      options.warn?.(`No checkpoint of ${tenant_id}/${project_id} was written. ${alarm}`);
  }

  /** Returns why none can be written. */
  private async writeCheckpoint(options: AuditOptions): Promise<string | null> {
    const { project, records } = this;
    const { signer } = options;
    await records.read();
    const row = await project.store.project(project.key);
    if (row === null || !records.hasUncoveredEvents(row.position)) return null;
    const enrolmentAlarm = await this.enrolmentAlarm(options);
    if (enrolmentAlarm !== null) return enrolmentAlarm;
    const tree = await this.currentTree();
    const unsigned = { ...this.describe(tree), key_id: signer.key_id };
    const signature = await signWith(signer, checkpointText(project.key, unsigned));
    // Signing may take long, and meanwhile another coordinator may have ended the key.
    await records.read();
    if (!records.keys.isActive(signer.key_id)) return this.enrolmentAlarm(options);
    const written = await project.run(recordCheckpoint({ ...unsigned, signature }));
    if (isProblem(written)) return null;
    await records.read();
    await this.compare(unsigned);
    return null;
  }

  private async enrolmentAlarm(options: AuditOptions): Promise<string | null> {
    const fault = await this.enrol(options);
    return isProblem(fault) ? fault.detail : fault;
  }

  /** Makes the key one of the project, and returns why it cannot be: a problem if it may be possible later. */
  private async enrol(options: AuditOptions): Promise<string | Problem | null> {
    const { project, records } = this;
    const keyId = options.signer.key_id;
    if (records.keys.isActive(keyId)) return null;
    const enrolment = await enrolmentOf(records.keys, project.key, options);
    if ('alarm' in enrolment) return enrolment.alarm;
    const enrolled = await project.run(recordKey(enrolment));
    if (isProblem(enrolled)) return enrolled;
    await records.read();
    return records.keys.isActive(keyId)
      ? null
      : `The audit key ${keyId} could not be enrolled. Run gen verify.`;
  }

  /** The tree of all events so far. */
  private async currentTree(): Promise<TreeBuilder> {
    const lastTree = this.records.lastTree();
    // Another coordinator may be ahead.
    if (this.tree === null || this.tree.size < lastTree.size) this.tree = new TreeBuilder(lastTree);
    const { tree, project } = this;
    // Read now that the tree exists: what becomes durable from here on is passed to it, so there is no gap.
    const position = (await project.store.project(project.key))?.position ?? 0;
    for (let before = -1; tree.size < position && tree.size > before; ) {
      before = tree.size;
      // Leaves that the log passes on meanwhile wait in the tree. Only the events before them are read.
      const until = tree.waitingFrom === null ? position : tree.waitingFrom - 1;
      await this.leaves.forEach(tree.size, until, ({ event, leaf }) =>
        tree.addLeaves(event.position, [leafHashOf(leaf)]),
      );
    }
    return tree;
  }

  private describe(tree: TreeBuilder): Omit<Checkpoint, 'key_id' | 'signature'> {
    const { project, records } = this;
    const first = records.tilesListed;
    return {
      position: tree.size,
      root: toBase64url(tree.root()),
      time: isoTime(project.now()),
      // A log that was imported may have checkpoints of a higher one.
      incarnation: Math.max(project.meta.incarnation, records.last?.incarnation ?? 0),
      subtrees: tree.subtrees().map(toBase64url),
      tiles: { first, roots: tree.tileRoots.slice(first, first + TILES_LISTED_MAX).map(toBase64url) },
    };
  }

  /** Another coordinator may have written the checkpoint of this position first. It must have the same root. */
  private async compare({ position, root }: Pick<Checkpoint, 'position' | 'root'>): Promise<void> {
    const written = this.records.checkpoints.findLast((checkpoint) => checkpoint.position === position);
    if (written === undefined || written.root === root) return;
    await this.project.run(recordAlarm({ position, root: written.root, computed_root: root }));
    await this.records.read();
  }
}

const ownKeysOf = (options: AuditOptions | null): ReadonlySet<string> =>
  new Set(
    options === null ? [] : [options.signer, ...(options.previousSigners ?? [])].map(({ key_id }) => key_id),
  );
