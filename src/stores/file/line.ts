import { hash } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { LoggedRequest, TransactionRecord } from '../ledger.js';
import type { Permit } from '../store.js';

/**
 * The format of a log line, one event per line:
 *
 *   {"hash":"…","event_id":…, … ,"log":{"prev":"…","unit":"1/2","payload_sha256":"…", …},"payload":{…}}
 *
 * `hash` covers everything between itself and the payload, which includes the hash of the line before and the digest of
 * the payload: the chain holds even where retention has blanked part of a payload. The payload comes last and starts at
 * the first `,"payload":`. That text cannot occur earlier: the envelope's values are strings and numbers, quotes within
 * strings are escaped, and nested values from a caller (a request's reply) are stored as a string.
 *
 * A transaction without events that has something to record is one line without an event: `hash`, `log`, an empty
 * payload.
 */
export const HASH_LENGTH = 43;

/** The `prev` of the first line of a log. */
export const NO_HASH = 'A'.repeat(HASH_LENGTH);

export const LINE_PREFIX = Buffer.from('{"hash":"');
const HASH_END = Buffer.from('",');
export const PAYLOAD = ',"payload":';
const PAYLOAD_BYTES = Buffer.from(PAYLOAD);
export const CHAIN_START = LINE_PREFIX.length + HASH_LENGTH + HASH_END.length;

export const digestOf = (data: string | Uint8Array): string => hash('sha256', data, 'base64url');

/** The log's own data in a line, beside the event. */
export interface LineLog {
  readonly prev: string;
  /** The part number of this line and the number of lines in its transaction: `1/2`. */
  readonly unit: string;
  readonly payload_sha256: string;
  /** On the first line of a batch: the last position known to be durable when it was written. */
  readonly durable?: number;
  /** With `durable`: the store's time when the batch was decided. Events carry the time of their command. */
  readonly at_ms?: number;
  readonly rules_seq?: number;
  readonly slots?: readonly LinePermit[];
  readonly requests?: readonly LineRequest[];
}

/** JSON has no Infinity. */
export type LinePermit = Omit<Permit, 'until_ms'> & { readonly until_ms: number | null | 'forever' };
type LineRequest = { readonly key: string; readonly digest: string; readonly reply?: string };

export const permitToLine = ({ scope, member, until_ms }: Permit): LinePermit => ({
  scope,
  member,
  until_ms: until_ms === Number.POSITIVE_INFINITY ? 'forever' : until_ms,
});

export const permitFromLine = ({ scope, member, until_ms }: LinePermit): Permit => ({
  scope,
  member,
  until_ms: until_ms === 'forever' ? Number.POSITIVE_INFINITY : until_ms,
});

const requestFromLine = ({ key, digest, reply }: LineRequest): LoggedRequest =>
  reply === undefined ? { key, digest } : { key, digest, reply: JSON.parse(reply) as unknown };

/** The record of a transaction, which is on its last line. */
export function recordFromLog(log: LineLog): TransactionRecord {
  return {
    ...(log.rules_seq === undefined ? {} : { rules_seq: log.rules_seq }),
    ...(log.slots === undefined ? {} : { slots: log.slots.map(permitFromLine) }),
    ...(log.requests === undefined ? {} : { requests: log.requests.map(requestFromLine) }),
  };
}

export interface DecodedLine {
  readonly hash: string;
  /** Null on the line of a transaction without events. */
  readonly event: EventEnvelope | null;
  /** Retention has removed part of the payload, so its digest does not match the rest. */
  readonly isRedacted: boolean;
  readonly log: LineLog;
}

/** Decodes one line, without its newline, and checks it by itself. A string is the reason why it is invalid. */
export function decodeLine(bytes: Buffer): DecodedLine | string {
  const cut = bytes.indexOf(PAYLOAD_BYTES);
  if (!hasLinePrefix(bytes) || cut < CHAIN_START || bytes[bytes.length - 1] !== CLOSING_BRACE) {
    return 'it is not a line of this log';
  }
  const ownHash = bytes.toString('latin1', LINE_PREFIX.length, LINE_PREFIX.length + HASH_LENGTH);
  if (digestOf(bytes.subarray(CHAIN_START, cut)) !== ownHash) return 'its hash does not match its text';
  const payload = bytes.subarray(cut + PAYLOAD_BYTES.length, bytes.length - 1);
  // A matching hash does not rule out that a required field is missing: anybody can compute one.
  const parsed = parseObject<ParsedLine>(`{${bytes.toString('utf8', CHAIN_START, cut)}}`);
  if (typeof parsed?.log?.unit !== 'string') return 'it is not a line of this log';
  const { log, ...event } = parsed;
  const isEvent = event.event_id !== undefined;
  const isRedacted = isEvent && payload[payload.length - 1] === SPACE;
  if (!isRedacted && log.payload_sha256 !== digestOf(payload)) return 'its payload does not match its digest';
  if (!isEvent) return { hash: ownHash, event: null, isRedacted, log };
  // No digest covers what retention has left of a payload.
  const content = parseObject<EventEnvelope['payload']>(payload.toString('utf8'));
  if (content === null) return 'its payload is not JSON';
  event.payload = content;
  return { hash: ownHash, event, isRedacted, log };
}

/** Null: not a JSON object. */
function parseObject<T extends object>(text: string): T | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' ? (parsed as T | null) : null;
  } catch {
    return null;
  }
}

type ParsedLine = EventEnvelope & { log: LineLog };

const CLOSING_BRACE = 0x7d;
const SPACE = 0x20;

const hasLinePrefix = (bytes: Buffer): boolean =>
  bytes.length > CHAIN_START &&
  bytes.compare(LINE_PREFIX, 0, LINE_PREFIX.length, 0, LINE_PREFIX.length) === 0 &&
  bytes.compare(HASH_END, 0, HASH_END.length, CHAIN_START - HASH_END.length, CHAIN_START) === 0;
