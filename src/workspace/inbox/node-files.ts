import { renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { lstat, readdir, rm, stat } from 'node:fs/promises';
import { isErrorCode } from '../../stores/file/disk.js';
import { type FileFault, readRegular } from '../regular-file.js';
import type { Folder, InboxFiles } from './files.js';
import { HeldFolder } from './held-folder.js';

/** The folders of agents on the disk of this machine. */
export const nodeFiles: InboxFiles = {
  async list(path) {
    return readdir(path).catch((error) => {
      if (isErrorCode(error, 'ENOENT')) return [];
      throw error;
    });
  },

  async open(path) {
    const held = await HeldFolder.open(path);
    return held === null ? null : new NodeFolder(held);
  },

  async make(path) {
    return new NodeFolder(await HeldFolder.make(path));
  },
};

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
    return lstat(this.held.at(name)).then(
      () => true,
      () => false,
    );
  }

  async read(name: string, bytes_max: number): Promise<Buffer | FileFault> {
    return readRegular(this.held.at(name), bytes_max);
  }

  async write(name: string, text: string): Promise<void> {
    writeFileSync(this.held.at(name), text, { flag: 'wx' });
  }

  async rename(from: string, to: string): Promise<void> {
    renameSync(this.held.at(from), this.held.at(to));
  }

  async moveInto(folder: NodeFolder, from: Buffer, to: string): Promise<void> {
    renameSync(this.held.atBytes(from), folder.held.at(to));
  }

  async unlink(name: string): Promise<void> {
    unlinkSync(this.held.at(name));
  }

  remove(name: string): Promise<void> {
    return rm(this.held.at(name), { force: true, recursive: true });
  }

  async modifiedMs(name: string): Promise<number> {
    return (await stat(this.held.at(name))).mtimeMs;
  }

  close(): Promise<void> {
    return this.held.close();
  }
}
