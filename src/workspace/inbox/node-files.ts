import { renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { isErrorCode, unlessMissing } from '../../stores/file/disk.js';
import { OpenFolder } from '../open-folder.js';
import { type FileFault, readRegularFile } from '../regular-file.js';
import { type AgentFolder, type InboxFiles, NotAFolderError } from './files.js';

/** Agents' folders on this machine's disk. */
export const nodeInboxFiles: InboxFiles = {
  async list(path) {
    return unlessMissing(readdir(path), []);
  },

  async open(path) {
    const folder = await OpenFolder.openExact(path);
    return typeof folder === 'string' ? null : new NodeAgentFolder(folder);
  },

  async makeFolder(path) {
    // A link or a file in its place is reported below.
    await mkdir(path, { recursive: true }).catch((error) => {
      if (!isErrorCode(error, 'EEXIST')) throw error;
    });
    const folder = await OpenFolder.openExact(path);
    if (typeof folder !== 'string') return new NodeAgentFolder(folder);
    throw new NotAFolderError(`${path} is not a folder. Remove it, and the serialiser creates it again`);
  },
};

/**
 * Uses synchronous calls for the operations of every command: dispatching such small calls to the thread pool takes
 * several times as long as the calls themselves.
 */
class NodeAgentFolder implements AgentFolder {
  constructor(private readonly folder: OpenFolder) {}

  names(): Promise<Buffer[]> {
    return this.folder.names();
  }

  async read(name: string, bytesMax: number): Promise<Buffer | FileFault> {
    return readRegularFile(this.folder.pathOf(name), bytesMax);
  }

  async write(name: string, text: string): Promise<void> {
    writeFileSync(this.folder.pathOf(name), text, { flag: 'wx' });
  }

  async rename(from: string, to: string): Promise<void> {
    renameSync(this.folder.pathOf(from), this.folder.pathOf(to));
  }

  async moveInto(folder: NodeAgentFolder, from: Buffer, to: string): Promise<void> {
    renameSync(this.folder.bytePathOf(from), folder.folder.pathOf(to));
  }

  async unlink(name: string): Promise<void> {
    unlinkSync(this.folder.pathOf(name));
  }

  remove(name: string): Promise<void> {
    return rm(this.folder.pathOf(name), { force: true, recursive: true });
  }

  async modifiedMs(name: string): Promise<number> {
    return (await lstat(this.folder.pathOf(name))).mtimeMs;
  }

  close(): Promise<void> {
    return this.folder.close();
  }
}
