import type { Folder, InboxFiles } from '../../src/workspace/inbox/files.js';
import type { FileFault } from '../../src/workspace/regular-file.js';
import { FileNode } from '../world/file-node.js';
import type { Platter } from '../world/platter.js';
import { diskError, type SimDisk } from '../world/sim-disk.js';

/** The folders of agents on a simulated disk, as one process sees them. Nothing here is synced, as nothing is there. */
export class SimFiles implements InboxFiles {
  constructor(
    readonly platter: Platter,
    readonly disk: SimDisk,
    /** A file has this name now. */
    readonly onNamed: (path: string) => void,
  ) {}

  list(path: string): Promise<string[]> {
    return this.disk.list(path);
  }

  open(path: string): Promise<Folder | null> {
    return this.disk.later('open', () =>
      this.platter.folder(path) === null ? null : new SimFolder(this, path),
    );
  }

  make(path: string): Promise<Folder> {
    return this.disk.later('make folder', () => {
      this.platter.makeFolder(path);
      return new SimFolder(this, path);
    });
  }
}

class SimFolder implements Folder {
  constructor(
    private readonly files: SimFiles,
    private readonly path: string,
  ) {}

  async names(): Promise<Buffer[]> {
    return (await this.files.disk.list(this.path)).map((name) => Buffer.from(name));
  }

  has(name: string): Promise<boolean> {
    return this.later('look', () => this.files.platter.find(this.at(name)) !== null);
  }

  async read(name: string, bytes_max: number): Promise<Buffer | FileFault> {
    const file = await this.later('open', () => this.files.platter.find(this.at(name)));
    if (file === null) return 'missing';
    if (!(file instanceof FileNode)) return 'not_a_file';
    if (file.content().length > bytes_max) return 'too_large';
    return this.later('read', () => Buffer.from(file.content()));
  }

  async write(name: string, text: string): Promise<void> {
    const file = await this.later('open', () => {
      if (this.files.platter.find(this.at(name)) !== null) throw diskError('EEXIST', `${name} is there`);
      return this.files.platter.makeFile(this.at(name)) ?? missing(this.path);
    });
    const bytes = Buffer.from(text);
    const taken = await this.files.disk.write(file, bytes);
    if (taken < bytes.length) throw diskError('ENOSPC', 'no space left');
  }

  rename(from: string, to: string): Promise<void> {
    return this.later('rename', () => this.move(this.at(from), this.at(to)));
  }

  moveInto(folder: SimFolder, from: Buffer, to: string): Promise<void> {
    return this.later('move', () => this.move(this.at(from.toString()), folder.at(to)));
  }

  unlink(name: string): Promise<void> {
    return this.later('unlink', () => {
      if (this.files.platter.find(this.at(name)) === null) missing(this.at(name));
      this.files.platter.remove(this.at(name));
    });
  }

  remove(name: string): Promise<void> {
    return this.later('remove', () => this.files.platter.remove(this.at(name)));
  }

  /** No simulated agent has so many outcomes that the oldest would go. */
  modifiedMs(name: string): Promise<number> {
    throw new Error(`nobody knows when ${name} was written`);
  }

  async close(): Promise<void> {}

  private move(from: string, to: string): void {
    if (!this.files.platter.rename(from, to)) missing(from);
    this.files.onNamed(to);
  }

  private at(name: string): string {
    return `${this.path}/${name}`;
  }

  private later<T>(label: string, effect: () => T): Promise<T> {
    return this.files.disk.later(label, effect);
  }
}

function missing(path: string): never {
  throw diskError('ENOENT', `there is no ${path}`);
}
