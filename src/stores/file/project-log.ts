import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectLedger } from '../ledger.js';
import {
  type CommitOutcome,
  type DurableListener,
  type EventQuery,
  LogDamaged,
  type LogStep,
  type ProjectRow,
  StoreBroken,
  type StoredHead,
  StoreUnavailable,
  type Transaction,
} from '../store.js';
import { transactionOf } from '../transaction.js';
import { type AppendedBatch, appendBatch, type BatchSync } from './append.js';
import { forgetLargeBlock } from './block-reader.js';
import type { BlockWriters } from './block-writer.js';
import { readFully } from './disk.js';
import { batchLength, coverOf, FOREIGN_BYTES_MAX, type ForeignEvents, isBlank } from './foreign-lines.js';
import type { LogExtent } from './idle-projects.js';
import { summaryPath } from './layout.js';
import { isRecordedRedaction, readEvents } from './log-reader.js';
import { closeSegment, Maintenance } from './maintenance.js';
import { type FlushedBatch, publishBatch } from './publish.js';
import { type RecoveredLog, type RecoveryContext, recoverLog } from './recovery.js';
import { redactSegments } from './redact-segments.js';
import type { LogState } from './replay.js';
import { messageOf, notWrittenError } from './strict-disk.js';
import type { GroupCommit } from './wal/group-commit.js';
import { WriteBatch } from './write-batch.js';

export interface LogOptions extends Omit<RecoveryContext, 'now_ms' | 'has_cut_tail'> {
  readonly now: () => number;
  readonly writers: BlockWriters;
  readonly groups: GroupCommit;
  readonly segment_bytes_max: number;
  /** How many logs of the tenant are being reloaded. Meanwhile the number of permits in the tenant's scopes is unknown. */
  readonly reloads: { count: number };
  /** Imports the lines of other programs: their events are written with the seal that covers them. */
  readonly foreign_events?: ForeignEvents;
  /** The store cannot continue. */
  readonly onBroken: (error: StoreBroken) => void;
  /** Something in the files is not what was written. */
  readonly onDamage: (error: LogDamaged, isServed: boolean) => void;
}

/** Maximum number of pending transactions; beyond it the disk is too slow, and commits are refused as unavailable. */
const TRANSACTIONS_PENDING_MAX = 100_000;

const NO_LINES: readonly Buffer[] = [];
const NEWLINE = 0x0a;
const LOOK_AHEAD_BYTES = 64 * 1024;
/** Maximum number of batches of foreign lines that one call imports. The next call imports what is left. */
const FOREIGN_BATCHES_MAX = 64;

/** One project's log: decides transactions in memory, and reports nothing before it is on disk. */
export class ProjectLog {
  private durablePosition: number;
  private pendingBatch: WriteBatch;
  private flushingBatch: FlushedBatch | null = null;
  private flushLoop: Promise<void> = Promise.resolve();
  private isFlushing = false;
  /** Work that must not run while a batch is being written. */
  private exclusiveTasks: (() => Promise<void>)[] = [];
  private failure: StoreBroken | StoreUnavailable | LogDamaged | null = null;
  private readonly maintenance: Maintenance;
  /** Number of failed writes after which the log was reloaded. */
  reloadCount = 0;
  /** Receives the hashes of the events that have become durable. */
  onDurable: DurableListener | null = null;

  private constructor(
    private readonly options: LogOptions,
    private log: RecoveredLog,
  ) {
    this.durablePosition = log.state.ledger.position;
    this.pendingBatch = this.newBatch(log.state.seal);
    this.maintenance = new Maintenance(options, log.snapshot_position, async (log) => {
      if (log !== this.log) throw new Error('the log was reloaded in the meantime');
      await this.durable();
    });
  }

  static async open(options: LogOptions): Promise<ProjectLog> {
    return new ProjectLog(options, await recoverLog({ ...options, now_ms: options.now() }));
  }

  get newest_ms(): number {
    return this.log.state.newest_ms;
  }

  get position(): number {
    return this.ledger.position;
  }

  /** How far the log has grown on disk. */
  get extent(): LogExtent {
    const { segments, last } = this.log.files;
    return { closed_segments: segments.length - 1, bytes: last.bytes };
  }

  get isWritten(): boolean {
    return this.ledger.isWritten;
  }

  /** The state of the project in memory. A failed write replaces this object. */
  get ledger(): ProjectLedger {
    return this.log.state.ledger;
  }

  /** Applies one transaction in memory. Its outcome may be reported once `durable` resolves. */
  apply(transaction: Transaction, nowMs: number): CommitOutcome {
    this.assertUsable();
    if (this.pendingBatch.transactions >= TRANSACTIONS_PENDING_MAX) {
      throw new StoreUnavailable('Too many commits are waiting for the disk. Try again in a moment.');
    }
    const outcome = this.applyToBatch(transaction, nowMs);
    if (this.pendingBatch.transactions > 0 && !this.isFlushing) this.startFlushing();
    return outcome;
  }

  /** Applies a step. Resolves when it is on disk; null: nothing changed, apply the step as a transaction instead. */
  applyStep(step: LogStep, nowMs: number): Promise<void> | null {
    this.assertUsable();
    if (this.pendingBatch.transactions >= TRANSACTIONS_PENDING_MAX) return null;
    const fields = this.ledger.applyStep(step, nowMs);
    if (fields === null) return null;
    this.pendingBatch.add([step.event], this.ledger.position, fields, nowMs);
    if (!this.isFlushing) this.startFlushing();
    return this.pendingBatch.durable;
  }

  private applyToBatch(transaction: Transaction, nowMs: number): CommitOutcome {
    const { outcome, events, first_position, fields } = this.log.state.ledger.apply(transaction, nowMs);
    if (fields !== null) this.pendingBatch.add(events, first_position, fields, nowMs);
    return outcome;
  }

  /** Resolves when everything applied before this call is on disk. */
  durable(): Promise<void> {
    this.assertUsable();
    if (this.pendingBatch.transactions > 0) return this.pendingBatch.durable;
    return this.flushingBatch?.batch.durable ?? Promise.resolve();
  }

  heads(subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    return this.readState(({ ledger }) => subjects.map((subject) => ledger.head(subject)));
  }

  scanHeads(page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    return this.readState(({ ledger }) => ledger.headsPage(page.after, page.limit));
  }

  row(): Promise<ProjectRow | null> {
    return this.readState(({ ledger: { isWritten, position, rules_seq } }) =>
      isWritten ? { position, rules_seq } : null,
    );
  }

  /** Reads from memory, and resolves when what it has read is on disk. */
  private async readState<T>(read: (state: LogState) => T): Promise<T> {
    const result = read(this.log.state);
    await this.durable();
    return result;
  }

  async events(query: EventQuery): Promise<EventEnvelope[]> {
    await this.durable();
    try {
      return await readEvents(this.log, query, this.durablePosition);
    } catch (error) {
      // Commands continue: the state they rely on was read and checked before, and is in memory.
      if (error instanceof LogDamaged) this.options.onDamage(error, true);
      throw error;
    }
  }

  /** Redacts events. Closes the active segment first if it has one of them, because a growing file cannot be replaced. */
  async redact(events: readonly EventEnvelope[]): Promise<void> {
    if (events.length === 0) return;
    await this.betweenBatches(async () => {
      const { files, state } = this.log;
      for (const event of events) {
        if (!(await isRecordedRedaction(this.log, event)))
          throw new Error(`No event of the log records the redaction of event ${event.position}.`);
      }
      const isInActiveFile = events.some(({ position }) => state.offsets.at(position) >= files.last.start);
      if (isInActiveFile) await closeSegment(this.log);
      // The write-ahead log must not keep what is removed from the files.
      await this.options.groups.emptyWal();
      try {
        await this.options.disk.unlink(summaryPath(this.options.folder));
        await redactSegments(this.options.disk, files, state, events);
      } finally {
        forgetLargeBlock(this.log);
      }
    });
  }

  /** Nothing may be applied after this is called. */
  async close(): Promise<void> {
    await this.flushLoop;
    await this.maintenance.close(this.failure === null && this.isWritten ? this.log : null);
    if (this.failure === null) await this.syncOrWarn();
    await this.log.files.close();
  }

  private async syncOrWarn(): Promise<void> {
    try {
      await this.options.groups.sync(this.log.files);
    } catch (error) {
      // The write-ahead log is kept, and the next start reads it.
      this.options.warn(
        `${this.options.folder} could not be synced: ${messageOf(error)}. Check the disk; the write-ahead log is kept.`,
      );
    }
  }

  private betweenBatches(work: () => Promise<void>): Promise<void> {
    this.assertUsable();
    return new Promise((resolve, reject) => {
      this.exclusiveTasks.push(() => work().then(resolve, reject));
      if (!this.isFlushing) this.startFlushing();
    });
  }

  private assertUsable(): void {
    if (this.failure !== null) throw this.failure;
  }

  private startFlushing(): void {
    this.isFlushing = true;
    // Commits of the same event-loop turn join the batch.
    this.flushLoop = Promise.resolve().then(() => this.flushAll());
  }

  private async flushAll(): Promise<void> {
    while (this.pendingBatch.transactions > 0 || this.exclusiveTasks.length > 0) {
      if (this.pendingBatch.transactions > 0) await this.flushPending();
      for (const run of this.exclusiveTasks.splice(0)) await run();
    }
    this.isFlushing = false;
  }

  private async flushPending(): Promise<void> {
    try {
      this.publish(await this.options.groups.duringBatch(() => this.appendPending()));
      await this.maintenance.afterFlush(this.log);
    } catch (error) {
      await this.fail(error);
    }
  }

  private appendPending(): Promise<AppendedBatch> {
    const { files } = this.log;
    const { disk, groups, key } = this.options;
    const { first_position: segment, bytes } = files.last;
    const { seal: lastSeal, foreign } = this.log.state;
    const end = { from: bytes, seal: lastSeal, foreign };
    const seal = (foreignBefore: readonly Buffer[]): Buffer => this.seal(foreignBefore);
    const sync: BatchSync = {
      get syncsOwnFile() {
        return groups.syncsOwnFile;
      },
      onSynced: () => groups.onSynced(files),
      makeDurable: (start, bytes) => groups.makeDurable(files, { ...key, segment, start, bytes }),
    };
    return files.useActive((file) => appendBatch(disk, file, files.pathOf(files.last), end, seal, sync));
  }

  /**
   * Seals the pending batch, and starts the next one: what is applied from now on comes after this seal. The events of
   * the foreign lines that the seal covers are in the same batch, so a crash neither loses nor repeats them.
   */
  private seal(foreignBefore: readonly Buffer[]): Buffer {
    const batch = this.pendingBatch;
    const { foreign } = this.log.state;
    const unsealed = foreign.length + foreignBefore.length === 0 ? NO_LINES : [...foreign, ...foreignBefore];
    const covered = this.addForeignEvents(unsealed);
    const sealed = batch.finish(this.durablePosition, coverOf(covered));
    this.flushingBatch = { ...sealed, batch, uncovered: unsealed.slice(covered.length) };
    this.pendingBatch = this.newBatch(sealed.seal);
    return sealed.bytes;
  }

  /** Adds the events of foreign lines to the pending batch. Returns the lines that its seal is to cover. */
  private addForeignEvents(unsealed: readonly Buffer[]): readonly Buffer[] {
    const { foreign_events: eventsOf, key, now } = this.options;
    if (eventsOf === undefined || unsealed.length === 0) return unsealed;
    const lines = unsealed.slice(0, batchLength(unsealed));
    const now_ms = now();
    const context = { after_position: this.durablePosition, seal: this.log.state.seal, now_ms };
    for (const event of eventsOf(lines, context))
      this.applyToBatch(transactionOf(key, { loose_events: [event] }), now_ms);
    return lines;
  }

  /**
   * Imports the lines that other programs have appended, if they are whole, in batches. Resolves to whether it imported
   * any.
   */
  async importForeignLines(): Promise<boolean> {
    if (this.options.foreign_events === undefined) return false;
    let hasImported = false;
    await this.betweenBatches(async () => {
      const { reloadCount } = this;
      for (let batches = 0; batches < FOREIGN_BATCHES_MAX; batches += 1) {
        if (!(await this.hasForeignLines())) return;
        await this.flushPending();
        if (this.failure !== null || this.reloadCount !== reloadCount) return;
        hasImported = true;
      }
    });
    return hasImported;
  }

  /** Whether there are lines of other programs to import. While the last one is being written, all new ones are left. */
  private async hasForeignLines(): Promise<boolean> {
    const { files, state } = this.log;
    if (!state.foreign.every(isBlank)) return true;
    const from = files.last.bytes;
    if (!(await files.hasActive())) return false;
    return files.useActive(async (file) => {
      const size = await file.size();
      if (size <= from) return false;
      if (size - from > FOREIGN_BYTES_MAX) return true;
      const [last] = await readFully(file, size - 1, 1);
      const start = await readFully(file, from, Math.min(size - from, LOOK_AHEAD_BYTES));
      return last === NEWLINE && (!isBlank(start) || size - from > LOOK_AHEAD_BYTES);
    });
  }

  private publish(appended: AppendedBatch): void {
    if (this.flushingBatch === null) throw new Error('No batch is being written.');
    const { batch } = this.flushingBatch;
    publishBatch(this.log, this.flushingBatch, appended);
    const firstPosition = this.durablePosition + 1;
    this.durablePosition = this.log.state.index.position;
    this.flushingBatch = null;
    batch.release();
    batch.resolve();
    if (batch.leafHashes !== null) this.onDurable?.(firstPosition, batch.leafHashes);
  }

  private newBatch(sealBefore: string): WriteBatch {
    const hasLeafHashes = this.onDurable !== null;
    return new WriteBatch(this.options.writers, sealBefore, this.durablePosition, hasLeafHashes);
  }

  /**
   * Handles a failed write: discards what was applied in memory but is not on disk, and reloads the log, unless the failure
   * has broken the store.
   */
  private async fail(error: unknown): Promise<void> {
    let failure: StoreBroken | StoreUnavailable | LogDamaged =
      error instanceof StoreBroken ? error : notWrittenError(error);
    this.failure = failure;
    if (failure !== error)
      this.options.warn(`${this.options.folder} could not be written: ${messageOf(error)}. Check the disk.`);
    if (failure instanceof StoreUnavailable) {
      this.options.reloads.count += 1;
      try {
        await this.reload();
        this.failure = null;
      } catch (reloadError) {
        const isStoreError = reloadError instanceof StoreBroken || reloadError instanceof LogDamaged;
        failure = isStoreError ? reloadError : new StoreBroken(messageOf(reloadError));
        this.failure = failure;
      }
      this.options.reloads.count -= 1;
    }
    if (failure instanceof LogDamaged) this.options.onDamage(failure, false);
    const batches = [this.flushingBatch?.batch, this.pendingBatch];
    this.flushingBatch = null;
    this.pendingBatch = this.newBatch(this.log.state.seal);
    if (failure instanceof StoreBroken) this.options.onBroken(failure);
    for (const batch of batches) {
      batch?.release();
      batch?.reject(failure);
    }
  }

  private async reload(): Promise<void> {
    const { files, state } = this.log;
    await this.options.groups.sync(files);
    if (this.flushingBatch !== null) {
      await files.truncateToDurable(this.flushingBatch.bytes, this.options.key, state.index.position);
    }
    await files.close();
    this.log = await recoverLog({ ...this.options, now_ms: this.options.now(), has_cut_tail: true });
    if (this.log.state.seal !== state.seal) {
      // Our failed batch was cut off, so the block that now continues the log is not ours.
      await this.log.files.close();
      throw new StoreBroken(
        `${files.pathOf(files.last)} was continued by another process, which writes to this log. Stop that process, then restart the server.`,
      );
    }
    this.reloadCount += 1;
    this.durablePosition = this.log.state.ledger.position;
  }
}
