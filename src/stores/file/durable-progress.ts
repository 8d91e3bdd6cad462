import { decodeLine } from './line.js';

/** How far the log is known to have been durable: a position, and bytes of the active file. */
export interface DurableProgress {
  position: number;
  bytes: number;
}

/** A batch is begun only when everything before it is durable. So a whole line that begins one tells how far that was. */
export function recordDurable(progress: DurableProgress, line: Buffer, offset: number): void {
  const decoded = decodeLine(line);
  if (typeof decoded === 'string' || decoded.log.durable === undefined) return;
  progress.bytes = Math.max(progress.bytes, offset);
  progress.position = Math.max(progress.position, decoded.log.durable);
}
