import type { AgentFolder, InboxFiles } from '../../src/workspace/inbox/files.js';
import type { FileFault } from '../../src/workspace/regular-file.js';
import type { DiskImage } from '../world/disk-image.js';
import { FileNode } from '../world/file-node.js';
import { diskError, type SimDisk } from '../world/sim-disk.js';

/**
 * The agents' folders on a simulated disk, as one process sees them. Nothing is synced, as in the real implementation.
 */
export class SimFiles implements InboxFiles {
  constructor(
    readonly diskImage: DiskImage,
    readonly disk: SimDisk,
    /** A file was renamed to this path. */
    readonly onPathAppeared: (path: string) => void,
  ) {}

  list(path: string): Promise<string[]> {
    return this.disk.list(path);
  }

  open(path: string): Promise<AgentFolder | null> {
    return this.disk.runLater('open', () =>
      this.diskImage.folderAt(path) === null ? null : new SimFolder(this, path),
    );
  }

  makeFolder(path: string): Promise<AgentFolder> {
    return this.disk.runLater('make folder', () => {
      this.diskImage.makeFolder(path);
      return new SimFolder(this, path);
    });
  }
}

class SimFolder implements AgentFolder {
  constructor(
    private readonly files: SimFiles,
    private readonly path: string,
  ) {}

  async names(): Promise<Buffer[]> {
    return (await this.files.disk.list(this.path)).map((name) => Buffer.from(name));
  }

  async read(name: string, bytesMax: number): Promise<Buffer | FileFault> {
    const file = await this.runLater('open', () => this.files.diskImage.find(this.pathOf(name)));
    if (file === null) return 'missing';
    if (!(file instanceof FileNode)) return 'not_a_file';
    if (file.content().length > bytesMax) return 'too_large';
    return this.runLater('read', () => Buffer.from(file.content()));
  }

  async write(name: string, text: string): Promise<void> {
    const file = await this.runLater('open', () => {
      if (this.files.diskImage.find(this.pathOf(name)) !== null)
        throw diskError('EEXIST', `${name} already exists`);
      return this.files.diskImage.makeFile(this.pathOf(name)) ?? throwMissing(this.path);
    });
    const bytes = Buffer.from(text);
    const writtenBytes = await this.files.disk.write(file, bytes);
    if (writtenBytes < bytes.length) throw diskError('ENOSPC', 'no space left');
  }

  rename(from: string, to: string): Promise<void> {
    return this.runLater('rename', () => this.move(this.pathOf(from), this.pathOf(to)));
  }

  moveInto(folder: SimFolder, from: Buffer, to: string): Promise<void> {
    return this.runLater('move', () => this.move(this.pathOf(from.toString()), folder.pathOf(to)));
  }

  unlink(name: string): Promise<void> {
    return this.runLater('unlink', () => {
      if (this.files.diskImage.find(this.pathOf(name)) === null) throwMissing(this.pathOf(name));
      this.files.diskImage.remove(this.pathOf(name));
    });
  }

  remove(name: string): Promise<void> {
    return this.runLater('remove', () => this.files.diskImage.remove(this.pathOf(name)));
  }

  /** Never called: no simulated agent has enough outcomes for the oldest to be removed. */
  modifiedMs(name: string): Promise<number> {
    throw new Error(`the write time of ${name} is unknown`);
  }

  async close(): Promise<void> {}

  private move(from: string, to: string): void {
    if (!this.files.diskImage.rename(from, to)) throwMissing(from);
    this.files.onPathAppeared(to);
  }

  private pathOf(name: string): string {
    return `${this.path}/${name}`;
  }

  private runLater<T>(label: string, effect: () => T): Promise<T> {
    return this.files.disk.runLater(label, effect);
  }
}

function throwMissing(path: string): never {
  throw diskError('ENOENT', `there is no ${path}`);
}
