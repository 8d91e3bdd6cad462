import { readFileSync } from 'node:fs';

/** Descriptors that the server itself needs: logs, snapshots, database connections. */
const OWN_FILES = 512;

/**
 * The number of connections that leave enough file descriptors for the store: a log that cannot be opened stops the
 * work of its project. The limit of the process is only known on Linux.
 */
export function connectionsWithin(max: number, limitsText = readLimits()): number {
  const [, limit] = /^Max open files\s+(\d+)/m.exec(limitsText) ?? [];
  if (limit === undefined) return max;
  // Half of the limit, if the limit is very low.
  return Math.min(max, Math.max(Number(limit) - OWN_FILES, Math.floor(Number(limit) / 2)));
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
