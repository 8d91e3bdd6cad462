import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { changedAtMs } from './folder-files.js';

/** A file owned by a process for longer than this without a change counts as abandoned, even if that process seems alive. */
const UNCHANGED_MS_MAX = 10 * 60 * 1000;
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
/** Identifies this process. The random part distinguishes it from an earlier process with the same pid. */
export const OWNER = `${HOST}-${process.pid}-${randomUUID().slice(0, 8)}`;

/** Whether the process that the end of this file's name identifies has ended or seems to hang. */
export async function isAbandoned(folder: string, name: string): Promise<boolean> {
  const [owner = ''] = name.slice(name.lastIndexOf('~') + 1).split('.');
  if (owner === OWNER) return false;
  const [host, pid] = owner.split('-');
  if (host === HOST && (Number(pid) === process.pid || !isAlive(Number(pid)))) return true;
  return Date.now() - (await changedAtMs(join(folder, name))) > UNCHANGED_MS_MAX;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
