import { StoreBroken } from '../../store.js';
import { type Disk, type DiskFile, writeFully } from '../disk.js';
import { WAL_FILE } from '../layout.js';
import { CHAIN_START } from '../line.js';
import { encodeFrame, type WalPart } from './frame.js';

/**
 * Records in `store.json`, durably, whether the write-ahead log may have commits that the logs do not have.
 */
type MarkStore = (hasWal: boolean) => Promise<void>;

/**
 * The file that makes the batches of several projects durable with one sync. It is created when it is first needed, and
 * removed when the store is closed without an error.
 */
export class WriteAheadLog {
  /** The length of the durable content. */
  bytes = 0;
  private file: DiskFile | null = null;
  private lastFrame = CHAIN_START;
  /** The content of the file is unknown: it must be read again before anything is written. */
  private failure: StoreBroken | null = null;

  constructor(
    private readonly disk: Disk,
    private readonly root: string,
    private readonly markStore: MarkStore,
    private isMarked: boolean,
  ) {}

  /** Appends a frame durably. If this rejects with anything but `StoreBroken`, no part of the frame is in the file. */
  async append(parts: readonly WalPart[]): Promise<void> {
    await this.orBroken(async () => {
      const file = this.file ?? (await this.open());
      const { bytes, digest } = encodeFrame(this.lastFrame, parts);
      try {
        await writeFully(file, bytes);
      } catch (error) {
        // The batches of the frame are reported as failed: they must not come back at the next start.
        await file.truncate(this.bytes);
        await file.sync();
        throw error;
      }
      await file.sync();
      this.bytes += bytes.length;
      this.lastFrame = digest;
    });
  }

  /** Removes everything. The logs themselves must be durable before. */
  async empty(): Promise<void> {
    await this.orBroken(async () => {
      if (this.bytes === 0) return;
      const file = this.file ?? (await this.open());
      await file.truncate(0);
      await file.sync();
      this.bytes = 0;
      this.lastFrame = CHAIN_START;
    });
  }

  /** Removes the file, so that older programs, which do not read it, can use the folder. The logs must be durable before. */
  async remove(): Promise<void> {
    await this.empty();
    await this.close();
    if (!this.isMarked) return;
    await removeWal(this.disk, this.root);
    await this.markStore(false);
    this.isMarked = false;
  }

  async close(): Promise<void> {
    await this.file?.close();
    this.file = null;
  }

  private async open(): Promise<DiskFile> {
    if (!this.isMarked) await this.markStore(true);
    this.isMarked = true;
    const file = await this.disk.openAppend(`${this.root}/${WAL_FILE}`);
    try {
      await this.disk.syncFolder(this.root);
    } catch (error) {
      await file.close();
      throw error;
    }
    this.file = file;
    return file;
  }

  private async orBroken(action: () => Promise<void>): Promise<void> {
    if (this.failure !== null) throw this.failure;
    try {
      await action();
    } catch (error) {
      if (error instanceof StoreBroken) this.failure = error;
      throw error;
    }
  }
}

/** Removes the file durably. */
export async function removeWal(disk: Disk, root: string): Promise<void> {
  await disk.unlink(`${root}/${WAL_FILE}`);
  await disk.syncFolder(root);
}
