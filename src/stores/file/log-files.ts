import { type Disk, type DiskFile, readFully } from './disk.js';
import { ACTIVE_FILE, SEGMENTS_FOLDER, segmentName } from './layout.js';
import { lineNumberAt } from './line-reader.js';
import { SharedFile } from './shared-file.js';

/** A part of the log in its own file. `start` is its byte offset in the whole log. */
export interface Segment {
  readonly first_position: number;
  readonly start: number;
  bytes: number;
}

/** The path of a file relative to the store's root; only the operator may see where the root is. */
export const displayPath = (root: string, path: string): string =>
  path.startsWith(`${root}/`) ? path.slice(root.length + 1) : (path.split('/').at(-1) as string);

/** The files of one project's log: sealed segments, and the active file that grows. */
export class LogFiles {
  private active: SharedFile | null = null;

  constructor(
    private readonly disk: Disk,
    private readonly root: string,
    private readonly folder: string,
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

  /** The active file, created if needed. */
  async openActive(): Promise<DiskFile> {
    if (this.active === null) {
      await this.disk.makeFolder(this.folder);
      const file = await this.disk.openAppend(`${this.folder}/${ACTIVE_FILE}`);
      this.active = new SharedFile(file);
      await this.syncParentFolders();
    }
    return this.active.file;
  }

  /** Removes what a failed write may have left after the durable end. */
  async truncateToDurable(): Promise<void> {
    if (this.active === null) return;
    await this.active.file.truncate(this.last.bytes);
    await this.active.file.sync();
  }

  /** Moves the full active file to the sealed segments; the next write starts a new file. */
  async seal(nextPosition: number): Promise<void> {
    const sealed = this.last;
    const segments = `${this.folder}/${SEGMENTS_FOLDER}`;
    await this.disk.makeFolder(segments);
    // A crash may have left the folder created but not durable: make it durable before anything moves into it.
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

  /** Bytes of the log from `offset` on, within one segment; fewer at the segment's end, null if its file is gone. */
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

  /** The file's display path, and the number of the line at `offset`; 1 if the file is gone. */
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

  /** A file is only as durable as the names on its path: the project's, the tenant's and the root's. */
  private async syncParentFolders(): Promise<void> {
    const parts = this.folder.split('/');
    for (let up = 0; up < 3 && parts.length - up > 0; up += 1) {
      await this.disk.syncFolder(parts.slice(0, parts.length - up).join('/') || '/');
    }
  }
}
