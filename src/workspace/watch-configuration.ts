import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { configurationFiles } from './read-files.js';
import { INTENT_FILE, type Workspace } from './workspace.js';

const POLL_MS = 1000;

/**
 * Calls `reload` after the configuration files have changed, until the signal is aborted. It polls, because file system
 * notifications are not reliable on every platform, and there are few files.
 */
export async function watchConfiguration(
  workspace: Workspace,
  reload: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let loaded = await stampOf(workspace);
  while (!signal.aborted) {
    await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    const current = await stampOf(workspace);
    if (current === loaded) continue;
    loaded = current;
    await reload();
  }
}

/**
 * A value that stays equal until a file is added, removed or written. An unreadable folder is reported when the files
 * are loaded.
 */
async function stampOf(workspace: Workspace): Promise<string> {
  const names = await configurationFiles(workspace).catch(() => []);
  const paths = [...names.map((name) => workspace.path(name)), join(workspace.root, INTENT_FILE)];
  const stamps = await Promise.all(
    paths.map(async (path) => {
      const stats = await stat(path, { bigint: true }).catch(() => null);
      return stats === null ? '' : `${path} ${stats.ino} ${stats.size} ${stats.mtimeNs}`;
    }),
  );
  return stamps.join('\n');
}
