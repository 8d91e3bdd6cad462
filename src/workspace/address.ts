import { readFile, rm, writeFile } from 'node:fs/promises';
import { LOCK_FILE } from '../stores/file/layout.js';
import { nodeDisk } from '../stores/file/node-disk.js';
import type { Workspace } from './workspace.js';

const addressFile = (workspace: Workspace): string => workspace.path('events', 'server.json');

/** Says where this process, which has the log, answers. */
export const writeAddress = (workspace: Workspace, url: string): Promise<void> =>
  writeFile(addressFile(workspace), `${JSON.stringify({ url, pid: process.pid })}\n`, { mode: 0o600 });

export const dropAddress = (workspace: Workspace): Promise<void> =>
  rm(addressFile(workspace), { force: true });

/** The same, once a while has passed; `withdraw` takes it back. */
export function announce(workspace: Workspace, url: string, after_ms: number): { withdraw(): Promise<void> } {
  let written = Promise.resolve();
  const timer = setTimeout(() => {
    // A folder that cannot be written to is found out by who writes what matters.
    written = writeAddress(workspace, url).catch(() => {});
  }, after_ms).unref();
  return {
    withdraw: async () => {
      clearTimeout(timer);
      await written;
      await dropAddress(workspace);
    },
  };
}

const ADDRESS = /^\{"url":"(http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5})","pid":(\d{1,10})\}$/;

/**
 * Null: nobody said. Only an address on this machine is believed, and only from the process that has the log: what a
 * crash left behind may be the address of somebody else by now.
 */
export async function readAddress(workspace: Workspace): Promise<string | null> {
  const text = await readFile(addressFile(workspace), 'utf8').catch(() => '');
  const [, url = null, pid] = ADDRESS.exec(text.trim()) ?? [];
  const owner = await nodeDisk.lockOwner(workspace.path('events', LOCK_FILE));
  return pid === owner ? url : null;
}
