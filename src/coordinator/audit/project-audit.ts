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
/** Maximum number of tiles that one checkpoint lists, so that its event stays below 64 KiB. Later ones list the rest. */
const TILES_LISTED_MAX = 1000;

/**
 * The audit tree of a loaded project. It is built after the commits, from the leaves that the log passes to `onDurable`,
 * or from the events in the store if the log passes none. It continues from the last checkpoint, so nothing is stored
 * besides the log.
 */
export class ProjectAudit {
  readonly records: AuditRecords;
  readonly leaves: EventLeaves;
  private readonly deliveries: readonly SinkDelivery[];
  private tree: TreeBuilder | null = null;
  private running: Promise<void> | null = null;
  private lastTurn: Promise<unknown> = Promise.resolve();
  private lastRunMs: number;
  private hasSigningFailed = false;
  /** Why the last attempt could not sign a checkpoint; null if it could, or if there was nothing to sign. */
  private signingAlarm: string | null = null;

  constructor(
    private readonly project: Project,
    private readonly options: AuditOptions | null,
  ) {
    this.records = new AuditRecords(project);
    this.leaves = new EventLeaves(new EventHistory(project.store, project.environment), project.key);
    this.deliveries = (options?.sinks ?? []).map(
      (sink) =>
        new SinkDelivery(project.key, this.records, sink, ownKeysOf(options), () =>
          project.environment.clock.monotonicMs(),
        ),
    );
    this.lastRunMs = project.environment.clock.monotonicMs();
    project.onDurable = (firstPosition, leafHashes) => this.tree?.addLeaves(firstPosition, leafHashes);
  }

  get isDue(): boolean {
    const { every_events = DEFAULT_EVERY_EVENTS, every_ms = DEFAULT_EVERY_MS } = this.options ?? {};
    const newEvents = this.project.state.position - (this.records.lastCheckpoint?.position ?? 0);
    const passedMs = this.project.environment.clock.monotonicMs() - this.lastRunMs;
    if (this.hasSigningFailed) return true;
    return passedMs >= every_ms || (this.tree !== null && newEvents >= every_events);
  }

  /** The problem with the checkpoints or with writing them; null if there is none. */
  get alarm(): string | null {
    return this.records.alarm ?? this.signingAlarm;
  }

  /** Starts the tree. Leaves that the log hands over from now on need not be read for the next checkpoint. */
  async startTree(): Promise<void> {
    if (this.tree !== null) return;
    await this.records.read();
    this.tree ??= new TreeBuilder(this.records.lastTree());
  }

  /** Sends the checkpoints to the sinks that do not have them. */
  async deliver(): Promise<void> {
    await Promise.all(this.deliveries.map((delivery) => delivery.deliver()));
  }

  /** The number of checkpoints that sinks have not confirmed yet. A checkpoint counts once for each such sink. */
  get undelivered(): number {
    return this.deliveries.reduce((sum, { pending }) => sum + pending, 0);
  }

  /** Writes a checkpoint if there are new events. A call during a running attempt starts no other, and waits for it. */
  checkpoint(options: AuditOptions): Promise<void> {
    this.running ??= this.runInTurn(() => this.tryCheckpoint(options)).finally(() => {
      this.lastRunMs = this.project.environment.clock.monotonicMs();
      this.running = null;
    });
    return this.running;
  }

  /**
   * Changes the keys and makes a checkpoint due, because the change may have made one possible. No checkpoint is
   * written during the change: otherwise its key could end after it was signed and before it is recorded.
   */
  changeKeys<T>(change: () => Promise<T>): Promise<T> {
    return this.runInTurn(async () => {
      await this.records.read();
      const reply = await change();
      await this.records.read();
      this.lastRunMs = Number.NEGATIVE_INFINITY;
      return reply;
    });
  }

  /**
   * Adds the signature of this coordinator to a record that only a coordinator may write. Returns the record unsigned
   * if the key cannot be enrolled in the project, because auditors would not accept its signature.
   */
  signRecord<T extends object>(
    options: AuditOptions,
    eventType: string,
    payload: T,
  ): Promise<T | (T & RecordSignature)> {
    return this.runInTurn(async () => {
      await this.records.read();
      const fault = await this.enrol(options);
      // Throw, so that the caller repeats the command later: a record without a signature would never become valid.
      if (isProblem(fault)) throw new StoreUnavailable(fault.detail);
      if (fault !== null) return payload;
      const { signer } = options;
      const { key } = this.project;
      const text = signedRecordText(key, eventType, { ...payload, key_id: signer.key_id });
      return { ...payload, key_id: signer.key_id, signature: await signWith(signer, text) };
    });
  }

  private runInTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.lastTurn.then(work);
    this.lastTurn = done.catch(() => {});
    return done;
  }

  /** Writes a checkpoint. If the signer fails, the events wait for the next round. */
  private async tryCheckpoint(options: AuditOptions): Promise<void> {
    let alarm: string | null;
    try {
      alarm = await this.writeCheckpoint(options);
      this.hasSigningFailed = false;
    } catch (error) {
      if (!(error instanceof SigningFailed)) throw error;
      this.hasSigningFailed = true;
      alarm = error.message;
    }
    const isNew = alarm !== this.signingAlarm;
    this.signingAlarm = alarm;
    const { tenant_id, project_id } = this.project.key;
    if (alarm !== null && isNew)
      options.warn?.(`No checkpoint of ${tenant_id}/${project_id} was written. ${alarm}`);
  }

  /**
   * Writes a checkpoint if events are uncovered. Returns why the key cannot be used; null if it can, or if nothing had to
   * be written. If the store fails, a later round tries again.
   */
  private async writeCheckpoint(options: AuditOptions): Promise<string | null> {
    const { project, records } = this;
    const { signer } = options;
    await records.read();
    const row = await project.store.project(project.key);
    if (row === null || !records.hasUncoveredEvents(row.position)) return null;
    const enrolmentAlarm = await this.enrolmentAlarm(options);
    if (enrolmentAlarm !== null) return enrolmentAlarm;
    const tree = await this.currentTree();
    const unsigned = { ...this.unsignedCheckpoint(tree), key_id: signer.key_id };
    const signature = await signWith(signer, checkpointText(project.key, unsigned));
    // Signing may take long, and meanwhile another coordinator may have ended the key.
    await records.read();
    if (!records.keys.isActive(signer.key_id)) return this.enrolmentAlarm(options);
    const written = await project.run(recordCheckpoint({ ...unsigned, signature }));
    if (isProblem(written)) return null;
    await records.read();
    await this.alarmIfRootDiffers(unsigned);
    return null;
  }

  private async enrolmentAlarm(options: AuditOptions): Promise<string | null> {
    const fault = await this.enrol(options);
    return isProblem(fault) ? fault.detail : fault;
  }

  /**
   * Enrols the key in the project. Returns null, or why the key cannot be enrolled. If the reason is a `Problem`, a later
   * attempt may succeed.
   */
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
    // Another coordinator may have written a checkpoint beyond this tree: continue from that checkpoint.
    if (this.tree === null || this.tree.size < lastTree.size) this.tree = new TreeBuilder(lastTree);
    const { tree, project } = this;
    // Read the position after the tree exists: leaves that become durable from now on are added to it, so none is missed.
    const position = (await project.store.project(project.key))?.position ?? 0;
    for (let lastSize = -1; tree.size < position && tree.size > lastSize; ) {
      lastSize = tree.size;
      // Leaves that the log hands over meanwhile wait in the tree, so only the events before those are read.
      const until = tree.waitingFrom === null ? position : tree.waitingFrom - 1;
      await this.leaves.forEach(tree.size, until, ({ event, leaf }) =>
        tree.addLeaves(event.position, [leafHashOf(leaf)]),
      );
    }
    return tree;
  }

  private unsignedCheckpoint(tree: TreeBuilder): Omit<Checkpoint, 'key_id' | 'signature'> {
    const { project, records } = this;
    const first = records.tilesListed;
    return {
      position: tree.size,
      root: toBase64url(tree.root()),
      time: isoTime(project.now()),
      // An imported log may have checkpoints of a higher incarnation.
      incarnation: Math.max(project.meta.incarnation, records.lastCheckpoint?.incarnation ?? 0),
      subtrees: tree.subtrees().map(toBase64url),
      tiles: { first, roots: tree.tileRoots.slice(first, first + TILES_LISTED_MAX).map(toBase64url) },
    };
  }

  /** Records an alarm if another coordinator wrote the checkpoint of this position first, with a different root. */
  private async alarmIfRootDiffers({ position, root }: Pick<Checkpoint, 'position' | 'root'>): Promise<void> {
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
