import { decodeLine } from './line.js';

/** How far the log is known to have been durable: a position, and bytes of the active file. */
export interface Known {
  position: number;
  bytes: number;
}

/** A batch is begun only when everything before it is durable. So a whole line that begins one tells how far that was. */
export function learn(known: Known, line: Buffer, offset: number): void {
  const decoded = decodeLine(line);
  if (typeof decoded === 'string' || decoded.log.durable === undefined) return;
  known.bytes = Math.max(known.bytes, offset);
  known.position = Math.max(known.position, decoded.log.durable);
}
