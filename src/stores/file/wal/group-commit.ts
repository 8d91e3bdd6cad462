import { StoreBroken } from '../../store.js';
import { messageOf } from '../strict-disk.js';
import type { WalPart } from './frame.js';
import type { WriteAheadLog } from './write-ahead-log.js';

/** A file with content that only the write-ahead log makes durable. */
interface UnsyncedFile {
  sync(): Promise<void>;
}

interface GroupCommitOptions {
  /** Up to this many batches at a time are synced in their own files. */
  readonly own_syncs_max: number;
  /** The write-ahead log is emptied when it reaches this size. */
  readonly wal_bytes_max: number;
  readonly warn: (sentence: string) => void;
  readonly onBroken: (error: StoreBroken) => void;
}

interface WaitingBatch {
  readonly file: UnsyncedFile;
  readonly part: WalPart;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface EmptyRequest {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Files synced at the same time before the write-ahead log is emptied: as many as Node has threads for the disk. */
const SYNCS_AT_ONCE = 4;

/**
 * Makes the batches of many projects durable with one sync: the batches that wait while a group is being written form
 * the next group. They are written to the projects' own files first, but these files are synced later, before the
 * write-ahead log is emptied.
 */
export class GroupCommit {
  private batchesInProgress = 0;
  private waitingBatches: WaitingBatch[] = [];
  private emptyRequests: EmptyRequest[] = [];
  private isRunning = false;
  private running: Promise<void> = Promise.resolve();
  private readonly unsyncedFiles = new Set<UnsyncedFile>();

  constructor(
    /** Null: every batch is synced in its own file. */
    private readonly wal: WriteAheadLog | null,
    private readonly options: GroupCommitOptions,
  ) {}

  /** Runs the write of one batch, and counts it while it runs. */
  async duringBatch<T>(write: () => Promise<T>): Promise<T> {
    this.batchesInProgress += 1;
    try {
      return await write();
    } finally {
      this.batchesInProgress -= 1;
    }
  }

  /** Whether a batch is synced in its own file. With few batches at a time, that is faster than writing them twice. */
  get syncsOwnFile(): boolean {
    return this.wal === null || this.batchesInProgress <= this.options.own_syncs_max;
  }

  /** Resolves when the part, which was written to its file, is durable. */
  makeDurable(file: UnsyncedFile, part: WalPart): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waitingBatches.push({ file, part, resolve, reject });
      this.start();
    });
  }

  /** Records that a file was synced as a whole. */
  onSynced(file: UnsyncedFile): void {
    this.unsyncedFiles.delete(file);
  }

  /** Makes a file durable by itself, so that it no longer depends on the write-ahead log. */
  async sync(file: UnsyncedFile): Promise<void> {
    if (!this.unsyncedFiles.has(file)) return;
    await file.sync();
    this.unsyncedFiles.delete(file);
  }

  /** Resolves when every file is durable by itself, and the write-ahead log has nothing of what was written before. */
  async emptyWal(): Promise<void> {
    if (this.wal === null || this.wal.bytes === 0) return;
    await new Promise<void>((resolve, reject) => {
      this.emptyRequests.push({ resolve, reject });
      this.start();
    });
  }

  /** Called when no batch is being written any more. Keeps the write-ahead log if a file may depend on it. */
  async close(isIntact: boolean): Promise<void> {
    await this.running;
    if (this.wal === null) return;
    if (isIntact && this.unsyncedFiles.size === 0) await this.wal.remove();
    else await this.wal.close();
  }

  private start(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    this.running = this.run();
  }

  private async run(): Promise<void> {
    const wal = this.wal as WriteAheadLog;
    while (this.waitingBatches.length > 0 || this.emptyRequests.length > 0) {
      if (this.waitingBatches.length > 0) await this.writeGroup(wal, this.waitingBatches.splice(0));
      const isFull = wal.bytes >= this.options.wal_bytes_max;
      if (isFull || this.emptyRequests.length > 0)
        await this.syncFilesAndEmptyWal(wal, this.emptyRequests.splice(0));
    }
    this.isRunning = false;
  }

  private async writeGroup(wal: WriteAheadLog, group: readonly WaitingBatch[]): Promise<void> {
    try {
      await wal.append(group.map(({ part }) => part));
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const { file, resolve } of group) {
      this.unsyncedFiles.add(file);
      resolve();
    }
  }

  private async syncFilesAndEmptyWal(wal: WriteAheadLog, callers: readonly EmptyRequest[]): Promise<void> {
    try {
      const files = [...this.unsyncedFiles].values();
      const syncNextFiles = async (): Promise<void> => {
        for (const file of files) await this.sync(file);
      };
      await Promise.all(Array.from({ length: SYNCS_AT_ONCE }, syncNextFiles));
      await wal.empty();
      for (const { resolve } of callers) resolve();
    } catch (error) {
      if (error instanceof StoreBroken) this.options.onBroken(error);
      else
        this.options.warn(
          `The write-ahead log could not be emptied (${messageOf(error)}). It keeps growing: check the disk.`,
        );
      for (const { reject } of callers) reject(error);
    }
  }
}
