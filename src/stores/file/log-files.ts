import { type Disk, type DiskFile, readFully } from './disk.js';
import { ACTIVE_FILE, SEGMENTS_FOLDER, segmentName } from './layout.js';
import { lineNumberAt } from './line-reader.js';
import { SharedFile } from './shared-file.js';

/** A stretch of the log in a file of its own. `start` is where it begins in the log as a whole, in bytes. */
export interface Segment {
  readonly first_position: number;
  readonly start: number;
  bytes: number;
}

/** A file of a store without the path of the store itself: that is for its operator alone. */
export const displayPath = (root: string, path: string): string =>
  path.startsWith(`${root}/`) ? path.slice(root.length + 1) : (path.split('/').at(-1) as string);

/** The files that one project's log is made of: sealed segments, and the active one that grows. */
export class LogFiles {
  private active: SharedFile | null = null;

  constructor(
    private readonly disk: Disk,
    private readonly root: string,
    private readonly folder: string,
    /** The last one is the active one. */
    readonly segments: Segment[] = [{ first_position: 1, start: 0, bytes: 0 }],
  ) {}

  get last(): Segment {
    return this.segments[this.segments.length - 1] as Segment;
  }

  /** The length of the log as a whole. */
  get end(): number {
    return this.last.start + this.last.bytes;
  }

  /** The active file, made when it is not there yet. */
  async openActive(): Promise<DiskFile> {
    if (this.active === null) {
      await this.disk.makeFolder(this.folder);
      const file = await this.disk.openAppend(`${this.folder}/${ACTIVE_FILE}`);
      this.active = new SharedFile(file);
      await this.syncParentFolders();
    }
    return this.active.file;
  }

  /** Takes back what a failed write may have left behind the durable end. */
  async truncateToDurable(): Promise<void> {
    if (this.active === null) return;
    await this.active.file.truncate(this.last.bytes);
    await this.active.file.sync();
  }

  /** The active file is full: it moves to the sealed ones, and the next line begins a new one. */
  async seal(nextPosition: number): Promise<void> {
    const sealed = this.last;
    const segments = `${this.folder}/${SEGMENTS_FOLDER}`;
    await this.disk.makeFolder(segments);
    // A crash may have left the folder made and not durable: nothing moves into it before it is.
    await this.disk.syncFolder(this.folder);
    await this.disk.rename(
      `${this.folder}/${ACTIVE_FILE}`,
      `${segments}/${segmentName(sealed.first_position)}`,
    );
    this.segments.push({ first_position: nextPosition, start: this.end, bytes: 0 });
    const active = this.active;
    this.active = null;
    await this.disk.syncFolder(segments);
    await this.disk.syncFolder(this.folder);
    await active?.retire();
  }

  /** Bytes of the log from `offset` on, all within one segment; fewer where the segment ends, null where it is gone. */
  async read(offset: number, lengthMax: number): Promise<Buffer | null> {
    const segment = this.segmentAt(offset);
    const from = offset - segment.start;
    const length = Math.min(lengthMax, segment.bytes - from);
    if (segment === this.last) {
      if (this.active === null) throw new Error(`${this.pathOf(segment)} is closed.`);
      return this.active.use((file) => readFully(file, from, length));
    }
    const file = await this.disk.openRead(this.pathOf(segment));
    if (file === null) return null;
    try {
      return await readFully(file, from, length);
    } finally {
      await file.close();
    }
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
      : `${this.folder}/${SEGMENTS_FOLDER}/${segmentName(segment.first_position)}`;
  }

  /** The file as a caller may see it, and the number of the line that begins at `offset`; 1 where the file is gone. */
  async lineAt(offset: number): Promise<{ file: string; line: number }> {
    const segment = this.segmentAt(offset);
    const path = this.pathOf(segment);
    const file = await this.disk.openRead(path);
    try {
      const line = file === null ? 1 : await lineNumberAt(file, offset - segment.start);
      return { file: displayPath(this.root, path), line };
    } finally {
      await file?.close();
    }
  }

  async close(): Promise<void> {
    await this.active?.retire();
    this.active = null;
  }

  /** A file is only as durable as the names that lead to it: the project's, the tenant's and the root's. */
  private async syncParentFolders(): Promise<void> {
    const parts = this.folder.split('/');
    for (let up = 0; up < 3 && parts.length - up > 0; up += 1) {
      await this.disk.syncFolder(parts.slice(0, parts.length - up).join('/') || '/');
    }
  }
}
