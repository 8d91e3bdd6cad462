import type { ProjectKey } from '../../store.js';
import { base64urlDigest, DIGEST_LENGTH } from '../line.js';

/**
 * A frame of the write-ahead log: what one flush makes durable for several projects. A line of JSON, and then the bytes
 * of its parts, one after the other:
 *
 *   {"frame":"…","prev":"…","parts":[{"tenant_id":"acme","project_id":"shop","segment":1,"start":512,"bytes":870}]}
 *
 * `frame` is the SHA-256 of the rest of the line, a newline and the bytes; `prev` is the `frame` of the previous frame.
 * A frame is written when the previous one is durable, so only the last one can be torn.
 */

/** Where the bytes of a part belong: in the file of a project's log that begins at position `segment`. */
interface WalPlace extends ProjectKey {
  readonly segment: number;
  /** From the start of that file. */
  readonly start: number;
}

/** Bytes of a project's log: whole lines, as they are in its file. */
export interface WalPart extends WalPlace {
  readonly bytes: readonly Buffer[];
}

/** A part as it is in the file of the write-ahead log. */
export interface StoredPart extends WalPlace {
  readonly bytes: Buffer;
}

export interface WalFrame {
  readonly digest: string;
  readonly prev: string;
  readonly parts: readonly StoredPart[];
  /** The length of the frame in the file. */
  readonly length: number;
}

export const FRAME_PREFIX = Buffer.from('{"frame":"');
const HASHED_FROM = FRAME_PREFIX.length + DIGEST_LENGTH + '",'.length;
const NO_DIGEST = '-'.repeat(DIGEST_LENGTH);
const NEWLINE = 0x0a;

/** The bytes of a frame, and its digest. */
export function encodeFrame(prev: string, parts: readonly WalPart[]): { bytes: Buffer; digest: string } {
  const header = {
    frame: NO_DIGEST,
    prev,
    parts: parts.map(({ tenant_id, project_id, segment, start, bytes }) => ({
      tenant_id,
      project_id,
      segment,
      start,
      bytes: bytes.reduce((sum, { length }) => sum + length, 0),
    })),
  };
  const bytes = Buffer.concat([
    Buffer.from(`${JSON.stringify(header)}\n`),
    ...parts.flatMap((part) => part.bytes),
  ]);
  const digest = base64urlDigest(bytes.subarray(HASHED_FROM));
  bytes.write(digest, FRAME_PREFIX.length, 'latin1');
  return { bytes, digest };
}

/** The frame that begins at an offset; null if there is none, or it is not whole. */
export function frameAt(bytes: Buffer, offset: number): WalFrame | null {
  const lineEnd = bytes.indexOf(NEWLINE, offset);
  if (lineEnd < 0) return null;
  const header = parseHeader(bytes.subarray(offset, lineEnd));
  if (header === null) return null;
  const parts: StoredPart[] = [];
  let end = lineEnd + 1;
  for (const { bytes: length, ...part } of header.parts) {
    parts.push({ ...part, bytes: bytes.subarray(end, end + length) });
    end += length;
  }
  if (end > bytes.length || base64urlDigest(bytes.subarray(offset + HASHED_FROM, end)) !== header.frame)
    return null;
  return { digest: header.frame, prev: header.prev, parts, length: end - offset };
}

interface FrameHeader {
  readonly frame: string;
  readonly prev: string;
  readonly parts: readonly (WalPlace & { readonly bytes: number })[];
}

function parseHeader(line: Buffer): FrameHeader | null {
  if (!line.subarray(0, FRAME_PREFIX.length).equals(FRAME_PREFIX)) return null;
  try {
    const header = JSON.parse(line.toString('utf8')) as FrameHeader;
    const isHeader = header.parts.every(({ bytes }) => Number.isSafeInteger(bytes) && bytes >= 0);
    return isHeader ? header : null;
  } catch {
    return null;
  }
}
