import { decodeLine } from './line.js';

/** How much of the log is known to have been durable: a position, and bytes of the active file. */
export interface DurableProgress {
  position: number;
  bytes: number;
}

/**
 * Updates the progress from a line. A batch is written only after everything before it is durable, so a whole line that
 * begins a batch proves how much was durable.
 */
export function recordDurable(progress: DurableProgress, line: Buffer, offset: number): void {
  const decoded = decodeLine(line);
  if (typeof decoded === 'string' || decoded.log.durable === undefined) return;
  progress.bytes = Math.max(progress.bytes, offset);
  progress.position = Math.max(progress.position, decoded.log.durable);
}
