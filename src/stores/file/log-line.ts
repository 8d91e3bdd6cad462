import { isAscii } from 'node:buffer';
import { type DecodedLine, type ParsedLine, parseObject, transactionLineOf } from './line.js';
import { decodeV1Line, isV1Line, type V1Line } from './line-v1.js';
import { type Seal, sealOf } from './seal.js';

/** What a line of a log file is. */
type FileLine =
  | { readonly kind: 'transaction'; readonly line: DecodedLine }
  | { readonly kind: 'seal'; readonly seal: Seal }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'v1'; readonly line: V1Line };

const OPENING_BRACE = 0x7b;
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09;

const FOREIGN: FileLine = { kind: 'foreign' };

/** Decodes any line of a log, without its newline. A string: why it is not a valid line. */
export function decodeLine(bytes: Buffer): FileLine | string {
  if (isV1Line(bytes)) {
    const line = decodeV1Line(bytes);
    return typeof line === 'string' ? line : { kind: 'v1', line };
  }
  // A failed parse is slow, and another program may append many lines that are not JSON.
  const isPlainText = bytes[0] !== OPENING_BRACE && !isSpace(bytes[0]);
  const parsed = isPlainText ? null : parseObject(decodeText(bytes));
  if (parsed === null) return 'it is not a line of JSON';
  if ('seal' in parsed) {
    const seal = sealOf(bytes, parsed);
    return typeof seal === 'string' ? seal : { kind: 'seal', seal };
  }
  if (!('log' in parsed)) return FOREIGN;
  const line = transactionLineOf(bytes, parsed as ParsedLine);
  return typeof line === 'string' ? line : { kind: 'transaction', line };
}

/** The event of a line of either format, even if its place in the log is unknown; null if it has none. */
export function eventIn(bytes: Buffer): DecodedLine['event'] {
  const decoded = decodeLine(bytes);
  return typeof decoded !== 'string' && 'line' in decoded ? decoded.line.event : null;
}

/** Most text is ASCII, and the check takes a fraction of the time of decoding UTF-8. */
export const decodeText = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
