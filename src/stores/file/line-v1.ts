import type { EventEnvelope } from '../../core/events/envelope.js';
import { isObject } from '../../core/events/plain-data.js';
import {
  base64urlDigest,
  type DecodedLine,
  DIGEST_LENGTH,
  type LinePermit,
  type LogFields,
  NOT_OURS,
  PAYLOAD_MARK_BYTES,
  parseObject,
} from './line.js';

/**
 * Format-1 lines, which are read and no longer written:
 *
 *   {"hash":"…","event_id":…, … ,"log":{"prev":"…","unit":"1/2","payload_sha256":"…", …},"payload":{…}}
 *
 * Each line is sealed by itself: `hash` covers everything between itself and the payload, which includes `prev`, the
 * hash of the line before. A payload that ends in a space is redacted.
 */
export const V1_PREFIX = Buffer.from('{"hash":"');
const HASH_END = Buffer.from('",');
export const V1_HASHED_FROM = V1_PREFIX.length + DIGEST_LENGTH + HASH_END.length;

export interface V1Line extends DecodedLine {
  readonly hash: string;
  readonly prev: string;
  /** On the first line of a batch: the last position known to be durable when it was written. */
  readonly durable?: number;
  /** With `durable`: the store's time when the batch was decided. */
  readonly at_ms?: number;
}

/** Format 1 has permits as objects. */
type V1Log = Omit<LogFields, 'slots'> & {
  readonly prev: string;
  readonly durable?: number;
  readonly at_ms?: number;
  readonly slots?: readonly { scope: string; member: string; until_ms: LinePermit[2] }[];
};
type ParsedV1Line = EventEnvelope & { log: V1Log };

export const isV1Line = (bytes: Buffer): boolean =>
  bytes.length > V1_HASHED_FROM && bytes.compare(V1_PREFIX, 0, V1_PREFIX.length, 0, V1_PREFIX.length) === 0;

/** Decodes one line, without its newline, and checks it by itself. A string is the reason why it is invalid. */
export function decodeV1Line(bytes: Buffer): V1Line | string {
  const payloadIndex = bytes.indexOf(PAYLOAD_MARK_BYTES);
  if (
    !isV1Line(bytes) ||
    !hasHashEnd(bytes) ||
    payloadIndex < V1_HASHED_FROM ||
    bytes.at(-1) !== CLOSING_BRACE
  )
    return NOT_OURS;
  const hash = bytes.toString('latin1', V1_PREFIX.length, V1_PREFIX.length + DIGEST_LENGTH);
  if (base64urlDigest(bytes.subarray(V1_HASHED_FROM, payloadIndex)) !== hash)
    return 'its hash does not match its text';
  const payload = bytes.subarray(payloadIndex + PAYLOAD_MARK_BYTES.length, bytes.length - 1);
  // A required field may be missing although the hash matches: anybody can compute a hash.
  const parsed = parseObject(
    `{${bytes.toString('utf8', V1_HASHED_FROM, payloadIndex)}}`,
  ) as ParsedV1Line | null;
  if (typeof parsed?.log?.unit !== 'string') return NOT_OURS;
  const { log, ...event } = parsed;
  const isEvent = event.event_id !== undefined;
  const isRedacted = isEvent && payload.at(-1) === SPACE;
  if (!isRedacted && log.payload_sha256 !== base64urlDigest(payload))
    return 'its payload does not match its digest';
  const line = { hash, ...commonLog(log), isRedacted };
  if (!isEvent) return { ...line, event: null };
  const content = parseObject(payload.toString('utf8'));
  if (!isObject(content)) return 'its payload is not JSON';
  event.payload = content as EventEnvelope['payload'];
  return { ...line, event };
}

/** The log data as format 2 has it, and what only format 1 has. */
function commonLog({
  prev,
  durable,
  at_ms,
  slots,
  ...log
}: V1Log): Omit<V1Line, 'hash' | 'event' | 'isRedacted'> {
  const permits = slots?.map(({ scope, member, until_ms }): LinePermit => [scope, member, until_ms]);
  return {
    prev,
    ...(durable === undefined ? {} : { durable }),
    ...(at_ms === undefined ? {} : { at_ms }),
    log: permits === undefined ? log : { ...log, slots: permits },
  };
}

const CLOSING_BRACE = 0x7d;
const SPACE = 0x20;

const hasHashEnd = (bytes: Buffer): boolean =>
  bytes.compare(HASH_END, 0, HASH_END.length, V1_HASHED_FROM - HASH_END.length, V1_HASHED_FROM) === 0;
