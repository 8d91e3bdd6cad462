import { createHash, hash } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { TransactionRecord } from '../ledger.js';
import type { Permit } from '../store.js';

/**
 * One event, one JSON line:
 *
 *   {"hash":"…","event_id":…, … ,"log":{"prev":"…","unit":"1/2","payload_sha256":"…", …},"payload":{…}}
 *
 * `hash` covers everything between itself and the payload, and so the hash of the line before and the digest of
 * the payload: the chain holds even where retention has blanked part of a payload. The payload comes last and is cut at the
 * first `,"payload":`. That text cannot come earlier: the envelope's values are strings and numbers, quotes within
 * strings are escaped, and whatever a caller may have nested (a request's reply) is kept as a string.
 *
 * A unit that left something to remember but no event is one line without an event: `hash`, `log`, an empty payload.
 */
export const HASH_LENGTH = 43;

/** What the first line of a log has for the line before. */
export const NO_HASH = 'A'.repeat(HASH_LENGTH);

export const LINE_PREFIX = Buffer.from('{"hash":"');
const HASH_END = Buffer.from('",');
export const PAYLOAD = ',"payload":';
const PAYLOAD_BYTES = Buffer.from(PAYLOAD);
export const CHAIN_START = LINE_PREFIX.length + HASH_LENGTH + HASH_END.length;

export const digestOf: (data: string | Uint8Array) => string =
  typeof hash === 'function'
    ? (data) => hash('sha256', data, 'base64url')
    : (data) => createHash('sha256').update(data).digest('base64url');

/** What the log notes about a line, beside the event. */
export interface LineLog {
  readonly prev: string;
  /** Which line of how many that are one unit. */
  readonly unit: string;
  readonly payload_sha256: string;
  /** On the first line of a batch: the last position known durable when it was written. */
  readonly durable?: number;
  /** Beside it: the store's time when the batch was decided. Events carry the time their command was. */
  readonly at_ms?: number;
  readonly rules_seq?: number;
  readonly slots?: readonly LinePermit[];
  readonly requests?: readonly LineRequest[];
}

/** JSON has no Infinity. */
export type LinePermit = Omit<Permit, 'until_ms'> & { readonly until_ms: number | null | 'forever' };
type LineRequest = { readonly key: string; readonly digest: string; readonly reply?: string };

export type RecordedRequest = NonNullable<TransactionRecord['requests']>[number];

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

const requestFromLine = ({ key, digest, reply }: LineRequest): RecordedRequest =>
  reply === undefined ? { key, digest } : { key, digest, reply: JSON.parse(reply) as unknown };

/** What the lines of a unit tell beside its events; it stands on the last of them. */
export function recordFromLog(log: LineLog): TransactionRecord {
  return {
    ...(log.rules_seq === undefined ? {} : { rules_seq: log.rules_seq }),
    ...(log.slots === undefined ? {} : { slots: log.slots.map(permitFromLine) }),
    ...(log.requests === undefined ? {} : { requests: log.requests.map(requestFromLine) }),
  };
}

export interface DecodedLine {
  readonly hash: string;
  /** Null on the line of a unit without events. */
  readonly event: EventEnvelope | null;
  /** Retention has taken something out of its payload, so its digest says nothing of what is left. */
  readonly isRedacted: boolean;
  readonly log: LineLog;
}

/** Reads one line, without its newline, and checks it by itself. A string says in words what is wrong with it. */
export function decodeLine(bytes: Buffer): DecodedLine | string {
  const cut = bytes.indexOf(PAYLOAD_BYTES);
  if (!hasLinePrefix(bytes) || cut < CHAIN_START || bytes[bytes.length - 1] !== CLOSING_BRACE) {
    return 'it is not a line of this log';
  }
  const ownHash = bytes.toString('latin1', LINE_PREFIX.length, LINE_PREFIX.length + HASH_LENGTH);
  if (digestOf(bytes.subarray(CHAIN_START, cut)) !== ownHash) return 'its hash does not match its text';
  const payload = bytes.subarray(cut + PAYLOAD_BYTES.length, bytes.length - 1);
  const parsed = envelopeOf(bytes.toString('utf8', CHAIN_START, cut));
  if (parsed === null) return 'it is not a line of this log';
  const { log, ...event } = parsed;
  const isEvent = event.event_id !== undefined;
  const isRedacted = isEvent && payload[payload.length - 1] === SPACE;
  if (!isRedacted && log.payload_sha256 !== digestOf(payload)) return 'its payload does not match its digest';
  if (!isEvent) return { hash: ownHash, event: null, isRedacted, log };
  const content = payloadOf(payload.toString('utf8'));
  if (content === null) return 'its payload is not JSON';
  event.payload = content;
  return { hash: ownHash, event, isRedacted, log };
}

/** Null: not JSON, or without what every line has. A matching hash does not exclude it: anybody can compute one. */
function envelopeOf(text: string): ParsedLine | null {
  try {
    const parsed = JSON.parse(`{${text}}`) as Partial<ParsedLine>;
    return typeof parsed.log?.unit === 'string' ? (parsed as ParsedLine) : null;
  } catch {
    return null;
  }
}

/** Null: it is not a JSON object. No digest covers what retention has left of a payload. */
function payloadOf(text: string): EventEnvelope['payload'] | null {
  try {
    const content: unknown = JSON.parse(text);
    return typeof content === 'object' ? (content as EventEnvelope['payload'] | null) : null;
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
