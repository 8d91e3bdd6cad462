import { renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { isErrorCode } from '../../stores/file/disk.js';
import { HeldFolder } from '../held-folder.js';
import { type FileFault, readRegular } from '../regular-file.js';
import { type Folder, type InboxFiles, NotAFolder } from './files.js';

/** The folders of agents on the disk of this machine. */
export const nodeFiles: InboxFiles = {
  async list(path) {
    return readdir(path).catch((error) => {
      if (isErrorCode(error, 'ENOENT')) return [];
      throw error;
    });
  },

  async open(path) {
    const held = await HeldFolder.itself(path);
    return typeof held === 'string' ? null : new NodeFolder(held);
  },

  async make(path) {
    // A link or a file in its place is said below, whatever it leads to.
    await mkdir(path, { recursive: true }).catch(unlessTaken);
    const held = await HeldFolder.itself(path);
    if (typeof held !== 'string') return new NodeFolder(held);
    throw new NotAFolder(`${path} is no folder: put it away, and it is made anew`);
  },
};

function unlessTaken(error: unknown): void {
  if (!isErrorCode(error, 'EEXIST')) throw error;
}

/**
 * What is done with every command is done at once: handing such small steps to other threads, and waiting for each, takes
 * several times as long as the steps.
 */
class NodeFolder implements Folder {
  constructor(private readonly held: HeldFolder) {}

  names(): Promise<Buffer[]> {
    return this.held.names();
  }

  has(name: string): Promise<boolean> {
    return lstat(this.held.nameOf(name)).then(
      () => true,
      () => false,
    );
  }

  async read(name: string, bytes_max: number): Promise<Buffer | FileFault> {
    return readRegular(this.held.nameOf(name), bytes_max);
  }

  async write(name: string, text: string): Promise<void> {
    writeFileSync(this.held.nameOf(name), text, { flag: 'wx' });
  }

  async rename(from: string, to: string): Promise<void> {
    renameSync(this.held.nameOf(from), this.held.nameOf(to));
  }

  async moveInto(folder: NodeFolder, from: Buffer, to: string): Promise<void> {
    renameSync(this.held.bytesOf(from), folder.held.nameOf(to));
  }

  async unlink(name: string): Promise<void> {
    unlinkSync(this.held.nameOf(name));
  }

  remove(name: string): Promise<void> {
    return rm(this.held.nameOf(name), { force: true, recursive: true });
  }

  async modifiedMs(name: string): Promise<number> {
    return (await lstat(this.held.nameOf(name))).mtimeMs;
  }

  close(): Promise<void> {
    return this.held.close();
  }
}
