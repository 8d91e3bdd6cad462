import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { LOCK_FILE } from '../stores/file/layout.js';
import { nodeDisk } from '../stores/file/node-disk.js';
import { readUserOnlyFile } from './regular-file.js';
import type { Workspace } from './workspace.js';

/** The URL and the token of the process that holds the log. `token` is null if the process requires none. */
export interface ServerAddress {
  readonly url: string;
  readonly token: string | null;
}

/** An address file that another user may have written, and why it is not trusted. */
export interface UntrustedAddress {
  readonly untrusted: string;
}

const ADDRESS_FILE = 'server.json';
const BYTES_MAX = 1024;
const OWNER_ONLY = 0o600;

const addressFile = (workspace: Workspace): string => workspace.path('events', ADDRESS_FILE);

/**
 * Publishes the address of this process, which holds the log. Always creates a new file that only its owner can read: an
 * existing file may be open in another process, readable by others, or a link.
 */
export async function writeAddress(workspace: Workspace, { url, token }: ServerAddress): Promise<void> {
  const temporary = `${addressFile(workspace)}.${randomBytes(8).toString('hex')}.tmp`;
  const text = JSON.stringify({ url, pid: process.pid, token: token ?? undefined });
  try {
    await writeFile(temporary, `${text}\n`, { flag: 'wx', mode: OWNER_ONLY });
    await rename(temporary, addressFile(workspace));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export const removeAddress = (workspace: Workspace): Promise<void> =>
  rm(addressFile(workspace), { force: true });

/** Publishes the address after a delay; `withdraw` removes it. */
export function publishAddressAfter(
  workspace: Workspace,
  address: ServerAddress,
  afterMs: number,
): { withdraw(): Promise<void> } {
  let written = Promise.resolve();
  const timer = setTimeout(() => {
    // If the folder is not writable, the writes of the log report that.
    written = writeAddress(workspace, address).catch(() => {});
  }, afterMs).unref();
  return {
    withdraw: async () => {
      clearTimeout(timer);
      await written;
      await removeAddress(workspace);
    },
  };
}

const ADDRESS_PATTERN =
  /^\{"url":"(http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5})","pid":(\d{1,10})(?:,"token":"([\w-]{43,128})")?\}$/;

/**
 * Reads the address of the process that holds the log. Null if none is published, or if the published address is not on
 * this machine or not from the process that holds the lock: another process may by now listen at an address left by a
 * crash. Not trusted if another user may have written or read the file.
 */
export async function readAddress(workspace: Workspace): Promise<ServerAddress | UntrustedAddress | null> {
  const path = addressFile(workspace);
  const content = readUserOnlyFile(path, BYTES_MAX);
  if (!Buffer.isBuffer(content))
    return content.fault === 'missing' ? null : { untrusted: `${path} ${content.message}` };
  const [, url, pid, token = null] = ADDRESS_PATTERN.exec(content.toString('utf8').trim()) ?? [];
  const owner = await nodeDisk.lockOwner(workspace.path('events', LOCK_FILE));
  return url !== undefined && pid === owner ? { url, token } : null;
}
