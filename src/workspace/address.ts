import { readFile, rm, writeFile } from 'node:fs/promises';
import type { Workspace } from './workspace.js';

const addressFile = (workspace: Workspace): string => workspace.path('events', 'server.json');

/** Says where the process that has the log answers. Only looked at while the log is held, so what a crash leaves is harmless. */
export const writeAddress = (workspace: Workspace, url: string): Promise<void> =>
  writeFile(addressFile(workspace), `${JSON.stringify({ url })}\n`, { mode: 0o600 });

export const dropAddress = (workspace: Workspace): Promise<void> =>
  rm(addressFile(workspace), { force: true });

/** Null: nobody said. Whatever else lies there is nobody's address: only one on this machine is believed. */
export async function readAddress(workspace: Workspace): Promise<string | null> {
  const text = await readFile(addressFile(workspace), 'utf8').catch(() => '');
  const url = /^\{"url":"(http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5})"\}$/.exec(text.trim())?.[1];
  return url ?? null;
}
