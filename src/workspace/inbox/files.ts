import type { FileFault } from '../regular-file.js';

/**
 * The only way the serialiser touches the folders of agents, so that a simulator can run this very code on a disk that
 * forgets. Whatever fails fails as Node's calls do, with a `code` and a `syscall`.
 */
export interface InboxFiles {
  /** The names in a folder; empty where there is none. */
  list(path: string): Promise<string[]>;

  /** Null where there is no such folder, or a link or a file in its place. */
  open(path: string): Promise<AgentFolder | null>;

  /** The same, made when it is not there. */
  make(path: string): Promise<AgentFolder>;
}

/** A link or a file lies where one agent's folder should be. */
export class NotAFolderError extends Error {
  override readonly name = 'NotAFolder';
}

/** A folder that is held open: what is done by a name in it happens in it. Nothing in it is followed. */
export interface AgentFolder {
  /** As bytes: what others put here need not be text. */
  names(): Promise<Buffer[]>;

  has(name: string): Promise<boolean>;

  /** A file whole, if it is a plain file of at most so many bytes. */
  read(name: string, bytesMax: number): Promise<Buffer | FileFault>;

  /** Fails with `EEXIST` where the name is taken. Not synced: what is written here can be told again. */
  write(name: string, text: string): Promise<void>;

  rename(from: string, to: string): Promise<void>;

  /** Moves whatever it is, as it is, into another folder. */
  moveInto(folder: AgentFolder, from: Buffer, to: string): Promise<void>;

  /** Removes a file. Fails with `ENOENT` where there is none. */
  unlink(name: string): Promise<void>;

  /** Removes whatever is there, with all that is in it. Quiet when there is nothing. */
  remove(name: string): Promise<void>;

  modifiedMs(name: string): Promise<number>;

  close(): Promise<void>;
}
