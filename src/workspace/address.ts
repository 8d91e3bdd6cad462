import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { LOCK_FILE } from '../stores/file/layout.js';
import { nodeDisk } from '../stores/file/node-disk.js';
import { readPrivateFile } from './regular-file.js';
import type { Workspace } from './workspace.js';

/** Where the process that has the log answers, and the token that it demands; null: it demands none of its own. */
export interface ServerAddress {
  readonly url: string;
  readonly token: string | null;
}

/** An address file that somebody else may have written, and why. */
export interface UntrustedAddress {
  readonly untrusted: string;
}

const ADDRESS_FILE = 'server.json';
const BYTES_MAX = 1024;
const OWNER_ONLY = 0o600;

const addressFile = (workspace: Workspace): string => workspace.path('events', ADDRESS_FILE);

/**
 * Says where this process, which has the log, answers. Always in a new file that only its owner can read: one that is
 * there already may be open elsewhere, readable by others, or a link.
 */
export async function writeAddress(workspace: Workspace, { url, token }: ServerAddress): Promise<void> {
  const temporary = `${addressFile(workspace)}.${randomBytes(8).toString('hex')}.tmp`;
  const text = JSON.stringify({ url, pid: process.pid, ...(token === null ? {} : { token }) });
  try {
    const file = await open(temporary, 'wx', OWNER_ONLY);
    try {
      await file.writeFile(`${text}\n`);
    } finally {
      await file.close();
    }
    await rename(temporary, addressFile(workspace));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export const removeAddress = (workspace: Workspace): Promise<void> =>
  rm(addressFile(workspace), { force: true });

/** The same, once a while has passed; `withdraw` takes it back. */
export function announceAfter(
  workspace: Workspace,
  address: ServerAddress,
  afterMs: number,
): { withdraw(): Promise<void> } {
  let written = Promise.resolve();
  const timer = setTimeout(() => {
    // A folder that cannot be written to is found out by who writes what matters.
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
 * Null: no process says so. Only an address on this machine is believed, only in a file that this user alone can have
 * written, and only from the process that has the log: what a crash left behind may be the address of another by now.
 */
export async function readAddress(workspace: Workspace): Promise<ServerAddress | UntrustedAddress | null> {
  const path = addressFile(workspace);
  const read = readPrivateFile(path, BYTES_MAX);
  if (!Buffer.isBuffer(read))
    return read.fault === 'missing' ? null : { untrusted: `${path} ${read.message}` };
  const [, url, pid, token = null] = ADDRESS_PATTERN.exec(read.toString('utf8').trim()) ?? [];
  const owner = await nodeDisk.lockOwner(workspace.path('events', LOCK_FILE));
  return url !== undefined && pid === owner ? { url, token } : null;
}
