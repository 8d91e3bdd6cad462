import type { Lock } from '../file/disk.js';
import { nodeDisk } from '../file/node-disk.js';

/**
 * Takes the lock of a file, which is created if it is missing. Null: another process has the lock. The operating system
 * releases the lock when the process ends, even by a crash.
 */
export const lockFile = (path: string): Promise<Lock | null> => nodeDisk.lock(path);
