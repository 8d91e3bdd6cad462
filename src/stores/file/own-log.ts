import { visitWholeLines } from './line-reader.js';
import { V1_PREFIX } from './line-v1.js';
import { decodeLine } from './log-line.js';

/** How our lines begin. A crash may have left only a part of such a beginning. */
export const OWN_PREFIXES = [V1_PREFIX, Buffer.from('{"event_id":"'), Buffer.from('{"log":{')];

/**
 * Whether a file that starts with these bytes is a log of Genesis Fleet and not of another program: it has a line of
 * ours. If there is no whole line: whether the bytes are the beginning of such a line, or empty.
 */
export function isOwnLog(start: Buffer): boolean {
  let lines = 0;
  let isOwn = false;
  visitWholeLines(start, 0, (line) => {
    lines += 1;
    isOwn ||= isOwnLine(line);
  });
  if (lines > 0) return isOwn;
  return OWN_PREFIXES.some((prefix) => {
    const length = Math.min(prefix.length, start.length);
    return start.compare(prefix, 0, length, 0, length) === 0;
  });
}

function isOwnLine(line: Buffer): boolean {
  if (
    line.length >= V1_PREFIX.length &&
    line.compare(V1_PREFIX, 0, V1_PREFIX.length, 0, V1_PREFIX.length) === 0
  )
    return true;
  const decoded = decodeLine(line);
  return typeof decoded !== 'string' && decoded.kind !== 'foreign';
}
