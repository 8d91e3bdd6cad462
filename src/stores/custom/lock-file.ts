import type { Lock } from '../file/disk.js';
import { nodeDisk } from '../file/node-disk.js';

/**
 * Takes the lock of a file, which is created if it is missing. Null: another process has it. The operating system
 * releases it when the process ends, however it ends.
 */
export const lockFile = (path: string): Promise<Lock | null> => nodeDisk.lock(path);
