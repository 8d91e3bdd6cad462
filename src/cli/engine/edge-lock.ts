import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sessionOf } from '../../engine/runs/start-run.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { CommandFailure } from '../exit.js';

/**
 * Locks an edge for one process of an agent in this folder. The claim does not distinguish processes: a restarted executor
 * gets its claim back, and so would a second executor. The operating system releases the lock of a process that was killed.
 */
export async function lockEdge(
  cliFolder: string,
  agentId: string,
  subject: string,
): Promise<{ release(): Promise<void> }> {
  const folder = join(cliFolder, 'iterate');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, '.gitignore'), '*\n');
  const path = join(folder, `${sessionOf(agentId, subject)}.lock`);
  const lock = await nodeDisk.lock(path);
  if (lock !== null) return lock;
  const pid = (await nodeDisk.lockOwner(path)) || 'unknown';
  throw new CommandFailure(
    `Another gen iterate (process ${pid}) runs ${subject} as ${agentId}. Wait until it ends, or stop it.`,
  );
}
