import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkspaceContext } from './inbox/execute-command.js';

const POLL_MS = 1000;

/**
 * Takes in what other tools append to the log of a workspace, until the signal. By polling, which costs the size of
 * one file. What fails is tried again: commands that need the log report what is wrong with it.
 */
export async function takeForeignLines(
  { coordinator, key }: Pick<WorkspaceContext, 'coordinator' | 'key'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await coordinator.takeForeign(key);
    await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => {});
  }
}
