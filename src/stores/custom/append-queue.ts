import { StoreBroken, StoreUnavailable } from '../store.js';

/** Maximum number of records that wait for the log. With that many, commits and reads are refused as unavailable. */
const PENDING_MAX = 100_000;

/**
 * Appends records in order, as many at a time as are waiting. After a failed write the log may or may not have the
 * records of that write, so no more are written: the store must be reopened, and then reads the records that exist.
 */
export class AppendQueue {
  private pending: string[] = [];
  private lastWrite: Promise<void> = Promise.resolve();
  private failure: StoreBroken | null = null;
  private resolveBroken!: (error: StoreBroken) => void;
  readonly broken = new Promise<StoreBroken>((resolve) => {
    this.resolveBroken = resolve;
  });

  constructor(private readonly append: (records: readonly string[]) => Promise<void>) {}

  /** Throws if nothing can be added. Called before each decision, because its record must not be lost, and before each read. */
  assertUsable(): void {
    if (this.failure !== null) throw this.failure;
    if (this.pending.length >= PENDING_MAX)
      throw new StoreUnavailable('Too many commits are waiting for the log. Try again in a moment.');
  }

  /** The record is durable when `durable` resolves. */
  add(record: string): void {
    this.pending.push(record);
    if (this.pending.length === 1) void this.run(() => this.flush()).catch(() => {});
  }

  /** Resolves when everything added so far is durable. */
  durable(): Promise<void> {
    return this.lastWrite;
  }

  /** Runs work that writes to the log, after everything added so far and before later records. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lastWrite.then(work).catch((error) => this.fail(error));
    this.lastWrite = result.then(() => {});
    this.lastWrite.catch(() => {});
    return result;
  }

  private flush(): Promise<void> {
    const records = this.pending;
    this.pending = [];
    return this.append(records);
  }

  private fail(error: Error): never {
    this.failure ??= new StoreBroken(
      `The log could not be written: ${error.message}. Reopen the store: its last records may or may not be there.`,
    );
    this.resolveBroken(this.failure);
    throw this.failure;
  }
}
