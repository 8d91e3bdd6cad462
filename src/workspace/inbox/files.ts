import type { FileFault } from '../regular-file.js';

/**
 * The serialiser's only access to the folders of inboxes, outcomes and quarantine, so that a simulator can run it on a disk
 * that loses writes. Errors are like Node's, with a `code` and a `syscall`.
 */
export interface InboxFiles {
  /** The names in a folder; empty if it does not exist. */
  list(path: string): Promise<string[]>;

  /** Null if there is no such folder, or a link or a file in its place. */
  open(path: string): Promise<AgentFolder | null>;

  /** Opens a folder, and creates it if it is missing. */
  makeFolder(path: string): Promise<AgentFolder>;
}

/** There is a link or a file where an agent's folder should be. */
export class NotAFolderError extends Error {
  override readonly name = 'NotAFolder';
}

/** An open folder: operations on a name stay in this folder, and no link is followed. */
export interface AgentFolder {
  /** The file names as bytes: names that others create need not be valid UTF-8. */
  names(): Promise<Buffer[]>;

  /** Reads a whole file, if it is a regular file of at most `bytesMax` bytes. */
  read(name: string, bytesMax: number): Promise<Buffer | FileFault>;

  /** Fails with `EEXIST` if the name is taken. Not synced: the content can be written again from the log. */
  write(name: string, text: string): Promise<void>;

  rename(from: string, to: string): Promise<void>;

  /** Moves an entry of any type into another folder, unchanged. */
  moveInto(folder: AgentFolder, from: Buffer, to: string): Promise<void>;

  /** Removes a file. Fails with `ENOENT` if it does not exist. */
  unlink(name: string): Promise<void>;

  /** Removes an entry recursively. Succeeds if it does not exist. */
  remove(name: string): Promise<void>;

  modifiedMs(name: string): Promise<number>;

  close(): Promise<void>;
}
