import type { EventEnvelope, NewEvent } from '../../core/events/envelope.js';
import {
  type EventQuery,
  LogDamaged,
  type Outcome,
  type ProjectRow,
  StoreBroken,
  type StoredHead,
  StoreUnavailable,
  type Unit,
} from '../store.js';
import { Batch, type EncodedBatch, encodeBatch } from './batch.js';
import { isErrorCode, writeFully } from './disk.js';
import { forgetIn } from './forgetting.js';
import { isExplained, readEvents } from './log-reader.js';
import { type RecoveredLog, type RecoveryContext, recoverLog } from './recovery.js';
import { messageOf } from './strict-disk.js';
import { Upkeep } from './upkeep.js';

export interface LogOptions extends Omit<RecoveryContext, 'now_ms'> {
  readonly now: () => number;
  readonly segment_bytes_max: number;
  /** Logs of the tenant that are being read anew: meanwhile nobody can tell how full a scope is. */
  readonly reloads: { count: number };
  /** The store cannot go on. */
  readonly onBroken: (error: StoreBroken) => void;
  /** Something in the files is not what was written. */
  readonly onDamage: (damage: LogDamaged, tenant: 'served' | 'not served') => void;
}

interface Chore {
  readonly work: () => Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Beyond this many units the disk does not keep up, and callers are asked to come again. */
const UNITS_WAITING_MAX = 100_000;

/** One project's log: decides units in memory, and tells of nothing before the disk has it. */
export class ProjectLog {
  private durable_position: number;
  private waiting = new Batch();
  private flushing: Batch | null = null;
  private running: Promise<void> = Promise.resolve();
  private busy = false;
  /** What must not meet a batch on its way to the disk. */
  private chores: Chore[] = [];
  private failure: StoreBroken | StoreUnavailable | LogDamaged | null = null;
  private readonly upkeep: Upkeep;

  private constructor(
    private readonly options: LogOptions,
    private log: RecoveredLog,
  ) {
    this.durable_position = log.state.ledger.position;
    this.upkeep = new Upkeep(options, log.snapshot_position, async (log) => {
      if (log !== this.log) throw new Error('the log was read anew meanwhile');
      await this.durable();
    });
  }

  static async open(options: LogOptions): Promise<ProjectLog> {
    return new ProjectLog(options, await recoverLog({ ...options, now_ms: options.now() }));
  }

  get newest_ms(): number {
    return this.log.state.newest_ms;
  }

  get isWritten(): boolean {
    return this.log.state.ledger.written;
  }

  /** Takes one unit in memory. What it tells may be passed on once `durable` resolves. */
  apply(unit: Unit, now_ms: number): Outcome {
    this.assertUsable();
    if (this.waiting.units.length >= UNITS_WAITING_MAX) {
      throw new StoreUnavailable(
        'The disk does not keep up: too many commits are waiting. Try again in a moment.',
      );
    }
    const { outcome, events, first_position, record } = this.log.state.ledger.apply(unit, now_ms);
    if (record !== null) {
      this.waiting.units.push({ events, first_position, record });
      this.waiting.at_ms = now_ms;
      if (!this.busy) this.start();
    }
    return outcome;
  }

  /** Everything taken before this call is on the disk. */
  durable(): Promise<void> {
    this.assertUsable();
    if (this.waiting.units.length > 0) return this.waiting.durable;
    return this.flushing?.durable ?? Promise.resolve();
  }

  async heads(subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    const heads = subjects.map((subject) => this.log.state.ledger.head(subject));
    await this.durable();
    return heads;
  }

  async scanHeads(page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    const heads = this.log.state.ledger.headsPage(page.after, page.limit);
    await this.durable();
    return heads;
  }

  async row(): Promise<ProjectRow | null> {
    const { written, position, rules_seq } = this.log.state.ledger;
    await this.durable();
    return written ? { position, rules_seq } : null;
  }

  async events(query: EventQuery): Promise<EventEnvelope[]> {
    await this.durable();
    try {
      return await readEvents(this.log, query, this.durable_position);
    } catch (error) {
      // Commands go on: what they rest on was read and checked before, and is in memory.
      if (error instanceof LogDamaged) this.options.onDamage(error, 'served');
      throw error;
    }
  }

  /** What happened to be in the active file is sealed first: a file that grows cannot be replaced. */
  async forget(events: readonly EventEnvelope[]): Promise<void> {
    if (events.length === 0) return;
    await this.betweenBatches(async () => {
      const { files, state } = this.log;
      for (const event of events) {
        if (!(await isExplained(this.log, event)))
          throw new Error(`no event of the log says what retention leaves of event ${event.position}`);
      }
      const is_active = events.some(({ position }) => state.offsets.at(position) >= files.last.start);
      if (is_active) await files.seal(state.index.position + 1);
      await forgetIn(this.options.disk, files, state, events);
    });
  }

  /** Nothing may be taken any more once this is called. */
  async close(): Promise<void> {
    await this.running;
    await this.upkeep.close(this.failure === null && this.isWritten ? this.log : null);
    await this.log.files.close();
  }

  private betweenBatches(work: () => Promise<void>): Promise<void> {
    this.assertUsable();
    return new Promise((resolve, reject) => {
      this.chores.push({ work, resolve, reject });
      if (!this.busy) this.start();
    });
  }

  private async doChores(): Promise<void> {
    for (const { work, resolve, reject } of this.chores.splice(0)) await work().then(resolve, reject);
  }

  private assertUsable(): void {
    if (this.failure !== null) throw this.failure;
  }

  private start(): void {
    this.busy = true;
    // Whoever commits in the same turn of the event loop comes along.
    this.running = Promise.resolve().then(() => this.flushAll());
  }

  private async flushAll(): Promise<void> {
    while (this.waiting.units.length > 0 || this.chores.length > 0) {
      if (this.waiting.units.length > 0) await this.flushWaiting();
      if (this.chores.length > 0) await this.doChores();
    }
    this.busy = false;
  }

  private async flushWaiting(): Promise<void> {
    const batch = this.waiting;
    this.flushing = batch;
    this.waiting = new Batch();
    try {
      await this.flush(batch);
      batch.resolve();
      await this.upkeep.afterFlush(this.log);
    } catch (error) {
      await this.fail(batch, error);
    }
    this.flushing = null;
  }

  private async flush(batch: Batch): Promise<void> {
    const { files, state } = this.log;
    const encoded = encodeBatch(batch, state.hash, this.durable_position);
    const file = await files.openActive();
    const size = await file.size();
    if (size !== files.last.bytes) {
      throw new StoreBroken(
        `${files.pathOf(files.last)} has ${size} bytes, but this writer left it at ${files.last.bytes}: ` +
          'somebody else writes to this log. Stop the other writer, then start again.',
      );
    }
    await writeFully(file, encoded.bytes);
    await file.sync();
    this.take(encoded, batch.at_ms);
  }

  /** What was written is durable: readers may find it. */
  private take({ bytes, hash, events, offsets }: EncodedBatch, at_ms: number): void {
    const { files, state } = this.log;
    const start = files.end;
    files.last.bytes += bytes.length;
    state.hash = hash;
    for (let index = 0; index < events.length; index += 1) {
      const { subject, session_id } = events[index] as NewEvent;
      state.index.add(state.index.position + 1, subject, session_id);
      state.offsets.add(start + (offsets[index] as number));
    }
    state.newest_ms = Math.max(state.newest_ms, at_ms);
    this.durable_position = state.index.position;
  }

  /** What memory took since the last sync is not on the disk: it is forgotten, and the log read anew. */
  private async fail(batch: Batch, error: unknown): Promise<void> {
    let failure: StoreBroken | StoreUnavailable | LogDamaged =
      error instanceof StoreBroken ? error : this.unavailable(error);
    this.failure = failure;
    if (failure instanceof StoreUnavailable) {
      this.options.reloads.count += 1;
      try {
        await this.reload();
        this.failure = null;
      } catch (second) {
        const isKnown = second instanceof StoreBroken || second instanceof LogDamaged;
        failure = isKnown ? second : new StoreBroken(messageOf(second));
        this.failure = failure;
      }
      this.options.reloads.count -= 1;
    }
    if (failure instanceof LogDamaged) this.options.onDamage(failure, 'not served');
    const { waiting } = this;
    this.waiting = new Batch();
    if (failure instanceof StoreBroken) this.options.onBroken(failure);
    batch.reject(failure);
    waiting.reject(failure);
  }

  /** Callers hear what they can do about it; where the log lies is for the operator alone. */
  private unavailable(error: unknown): StoreUnavailable {
    this.options.warn(`${this.options.folder} could not be written: ${messageOf(error)}.`);
    const full = isErrorCode(error, 'ENOSPC') || isErrorCode(error, 'EDQUOT');
    return new StoreUnavailable(
      full
        ? 'The disk is full: the log cannot grow. Nothing was written. Free some space and try again.'
        : 'The log could not be written. Nothing was written. Try again.',
    );
  }

  private async reload(): Promise<void> {
    const { files } = this.log;
    await files.cutBack();
    await files.close();
    this.log = await recoverLog({ ...this.options, now_ms: this.options.now() });
    this.durable_position = this.log.state.ledger.position;
  }
}
