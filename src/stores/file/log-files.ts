import { LogDamaged, type ProjectKey } from '../store.js';
import { readForeignTail, type WrittenEnd } from './append.js';
import { type Disk, type DiskFile, readFully, withFile } from './disk.js';
import { bytesInFile } from './foreign-lines.js';
import { ACTIVE_FILE, SEGMENTS_FOLDER, segmentPath } from './layout.js';
import { lineNumberAt } from './line-reader.js';
import type { ClosableFile, OpenFiles } from './open-files.js';
import { SharedFile } from './shared-file.js';
import { readTail, saveTornTail, splitTail, truncateKeepingForeignLines } from './torn-tail.js';

/** A part of the log in its own file. `start` is its byte offset in the whole log. */
export interface Segment {
  readonly first_position: number;
  readonly start: number;
  bytes: number;
}

/** The path of a file relative to the store's root; only the operator may see where the root is. */
export const displayPath = (root: string, path: string): string =>
  path.startsWith(`${root}/`) ? path.slice(root.length + 1) : (path.split('/').at(-1) as string);

/** The files of one project's log: closed segments, and the active file that grows. */
export class LogFiles implements ClosableFile {
  private active: SharedFile | null = null;
  private opening: Promise<SharedFile> | null = null;
  /** Whether the names of the active file and of its folders are durable. */
  private isNamed = false;
  private users = 0;

  constructor(
    private readonly disk: Disk,
    private readonly root: string,
    private readonly folder: string,
    private readonly openFiles: OpenFiles,
    /** The last one is the active file. */
    readonly segments: Segment[] = [{ first_position: 1, start: 0, bytes: 0 }],
  ) {}

  get last(): Segment {
    return this.segments[this.segments.length - 1] as Segment;
  }

  /** The length of the whole log. */
  get end(): number {
    return this.last.start + this.last.bytes;
  }

  /** Runs an action on the active file, which is created if needed. It may be closed between two actions. */
  async useActive<T>(action: (file: DiskFile) => Promise<T>): Promise<T> {
    this.users += 1;
    try {
      const active = this.active ?? (await this.openActive());
      this.openFiles.markUsed(this);
      return await active.use(action);
    } finally {
      this.users -= 1;
    }
  }

  private openActive(): Promise<SharedFile> {
    const open = async (): Promise<SharedFile> => {
      await this.disk.makeFolder(this.folder);
      const active = new SharedFile(await this.disk.openAppend(`${this.folder}/${ACTIVE_FILE}`));
      this.active = active;
      if (!this.isNamed) await this.syncParentFolders();
      this.isNamed = true;
      return active;
    };
    this.opening ??= open().finally(() => {
      this.opening = null;
    });
    return this.opening;
  }

  /** Whether there is an active file. The check does not create one. */
  async hasActive(): Promise<boolean> {
    return this.isNamed || (await withFile(this.disk, this.pathOf(this.last), async () => true)) === true;
  }

  /** Makes the active file durable. */
  sync(): Promise<void> {
    return this.useActive((file) => file.sync());
  }

  closeIfIdle(): boolean {
    if (this.users > 0 || this.active === null) return false;
    // No one uses the file, so its closing need not be awaited.
    this.active.retire().catch(() => {});
    this.active = null;
    return true;
  }

  /**
   * Removes what a failed write of ours may have left after the durable end. Lines that another program appended meanwhile
   * are written again after the cut. If there are any, a copy is kept, because a crash may come in between.
   */
  async truncateToDurable(failedWrite: Buffer, key: ProjectKey, position: number): Promise<void> {
    if (!this.isNamed) return;
    await this.useActive(async (file) => {
      const tail = await readTail(file, this.last.bytes);
      const isOurs = tail.equals(failedWrite.subarray(0, tail.length));
      if (!isOurs) await saveTornTail(this.disk, this.folder, position, tail);
      await truncateKeepingForeignLines(file, this.last.bytes, splitTail(tail, key, position).foreign);
    });
  }

  /**
   * Moves the full active file to the closed segments; the next write starts a new file. Returns the foreign lines that
   * were appended to the file since the last write.
   */
  closeSegment(nextPosition: number, end: Omit<WrittenEnd, 'from'>): Promise<readonly Buffer[]> {
    // Reads use the open file while it is being moved: at its path there may be none, or the next one.
    return this.useActive(async (file) => {
      const foreign = await this.includeForeignTail(file, end);
      // The write-ahead log does not cover a closed segment.
      await file.sync();
      const segments = `${this.folder}/${SEGMENTS_FOLDER}`;
      await this.disk.makeFolder(segments);
      // A crash may have left the folder created but not durable: make it durable before anything moves into it.
      await this.disk.syncFolder(this.folder);
      const path = segmentPath(this.folder, this.last.first_position);
      await this.disk.rename(`${this.folder}/${ACTIVE_FILE}`, path);
      try {
        // Another program may have appended a line just before the file was moved.
        return [...foreign, ...(await this.includeForeignTail(file, end))];
      } finally {
        const active = this.active;
        this.active = null;
        this.isNamed = false;
        this.segments.push({ first_position: nextPosition, start: this.end, bytes: 0 });
        await this.disk.syncFolder(segments);
        await this.disk.syncFolder(this.folder);
        await active?.retire();
      }
    });
  }

  /** Makes the foreign lines at the end of the active file part of the log. */
  private async includeForeignTail(
    file: DiskFile,
    end: Omit<WrittenEnd, 'from'>,
  ): Promise<readonly Buffer[]> {
    const written = { ...end, from: this.last.bytes };
    const foreign = await readForeignTail(this.disk, file, this.pathOf(this.last), written);
    if (foreign.length === 0) return foreign;
    await file.sync();
    this.last.bytes += bytesInFile(foreign);
    return foreign;
  }

  /** Bytes of the log from `offset` on, within one segment; fewer at the segment's end, null if its file is gone. */
  async read(offset: number, lengthMax: number): Promise<Buffer | null> {
    const segment = this.segmentAt(offset);
    const from = offset - segment.start;
    const length = Math.min(lengthMax, segment.bytes - from);
    if (segment === this.last) return this.useActive((file) => readFully(file, from, length));
    return withFile(this.disk, this.pathOf(segment), (file) => readFully(file, from, length));
  }

  segmentAt(offset: number): Segment {
    let low = 0;
    let high = this.segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.segments[middle] as Segment).start <= offset) low = middle;
      else high = middle - 1;
    }
    return this.segments[low] as Segment;
  }

  pathOf(segment: Segment): string {
    return segment === this.last
      ? `${this.folder}/${ACTIVE_FILE}`
      : segmentPath(this.folder, segment.first_position);
  }

  /** The damage to the lines from `offset` to the one before `end`; to line 1 if the file is gone. */
  async damageAt(
    { tenant_id, project_id }: ProjectKey,
    offset: number,
    why: string,
    end = offset + 1,
  ): Promise<LogDamaged> {
    const segment = this.segmentAt(offset);
    const path = this.pathOf(segment);
    const file = displayPath(this.root, path);
    const lines = await withFile(this.disk, path, async (file) => ({
      line: await lineNumberAt(file, offset - segment.start),
      last_line: (await lineNumberAt(file, end - segment.start)) - 1,
    }));
    return new LogDamaged({ tenant_id, project_id, file, line: 1, ...lines, why });
  }

  async close(): Promise<void> {
    this.openFiles.markClosed(this);
    await this.active?.retire();
    this.active = null;
  }

  /** Syncs the project's folder and the two above it: a file is only as durable as the names on its path. */
  private async syncParentFolders(): Promise<void> {
    const parts = this.folder.split('/');
    for (let up = 0; up < 3 && parts.length - up > 0; up += 1) {
      await this.disk.syncFolder(parts.slice(0, parts.length - up).join('/') || '/');
    }
  }
}
