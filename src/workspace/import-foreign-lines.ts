import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkspaceContext } from './inbox/execute-command.js';

const POLL_MS = 1000;

/**
 * Imports the lines that other tools append to the log of a workspace, until the signal aborts. While there is no new line,
 * a poll only reads the size of a file. A failed import is tried again; the commands that need the log report the cause.
 */
export async function importForeignLines(
  { coordinator, key }: Pick<WorkspaceContext, 'coordinator' | 'key'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await coordinator.imports.importForeignLines(key);
    await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => {});
  }
}
