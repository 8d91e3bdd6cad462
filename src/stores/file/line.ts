import { hash } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { isObject } from '../../core/events/plain-data.js';
import type { TransactionFields } from '../ledger.js';
import type { LoggedRequest, Permit } from '../store.js';

/**
 * The lines of a log, each a JSON object:
 *
 *   {"event_id":…, … ,"log":{"payload_sha256":"…", …},"payload":{…}}   an event
 *   {"log":{…}}                                                        a transaction without events
 *   {"seal":"…","lines":2, …}                                          ends a block (seal.ts)
 *
 * A seal covers each line of its block up to the payload; the payload is covered by its digest, so that retention can
 * blank part of it. The payload comes last and starts at the first `,"payload":`. That text cannot occur earlier: the
 * envelope's values are strings and numbers, quotes within strings are escaped, and nested values from a caller (a
 * request's reply) are stored as a string.
 *
 * There may be lines of other programs between blocks (foreign-lines.ts). A log may begin with format-1 lines
 * (line-v1.ts).
 */
export const DIGEST_LENGTH = 43;

/** Takes the place of the previous seal at the start of a chain. */
export const CHAIN_START = 'A'.repeat(DIGEST_LENGTH);

export const PAYLOAD_MARK = ',"payload":';
export const PAYLOAD_MARK_BYTES = Buffer.from(PAYLOAD_MARK);

export const base64urlDigest = (data: string | Uint8Array): string => hash('sha256', data, 'base64url');

/** The fields that the log adds to the event of a line. */
export interface LogFields {
  /** The digest of the payload as it was written. Missing on the line of a transaction without events. */
  readonly payload_sha256?: string;
  /** The part number of this line and the number of lines in its transaction: `1/2`. Missing if it is the only one. */
  readonly unit?: string;
  readonly rules_seq?: number;
  /** The permits. The format keeps this older name. */
  readonly slots?: readonly LinePermit[];
  readonly requests?: readonly LineRequest[];
}

/** A permit as a list. 'forever' stands for Infinity, which JSON does not have. Null releases the permit. */
export type LinePermit = readonly [scope: string, member: string, until_ms: number | null | 'forever'];
type LineRequest = { readonly key: string; readonly digest: string; readonly reply?: string };

export const permitToLine = ({ scope, member, until_ms }: Permit): LinePermit => [
  scope,
  member,
  until_ms === Number.POSITIVE_INFINITY ? 'forever' : until_ms,
];

export const permitFromLine = ([scope, member, until]: LinePermit): Permit => ({
  scope,
  member,
  until_ms: until === 'forever' ? Number.POSITIVE_INFINITY : until,
});

const requestFromLine = ({ key, digest, reply }: LineRequest): LoggedRequest =>
  reply === undefined ? { key, digest } : { key, digest, reply: JSON.parse(reply) as unknown };

/** What a log records of a transaction in addition to its events. It is on the transaction's last line. */
export function fieldsFromLog(log: LogFields): TransactionFields {
  return {
    ...(log.rules_seq === undefined ? {} : { rules_seq: log.rules_seq }),
    ...(log.slots === undefined ? {} : { permits: log.slots.map(permitFromLine) }),
    ...(log.requests === undefined ? {} : { requests: log.requests.map(requestFromLine) }),
  };
}

/** A line of a transaction, of either format. */
export interface DecodedLine {
  /** Null on the line of a transaction without events. */
  readonly event: EventEnvelope | null;
  /** The payload is not the one that was written: retention has removed part of it, or it is damaged. */
  readonly isRedacted: boolean;
  readonly log: LogFields;
}

export const NOT_OURS = 'it is not a line of this log';

/** A line as JSON: the envelope, and copies of some of its fields for other tools of the family. */
export type ParsedLine = EventEnvelope & {
  log: LogFields;
  project?: unknown;
  feature?: unknown;
  iteration?: unknown;
  delta?: unknown;
};

/** Reads a line of a transaction from its bytes and its parsed JSON. A string: why it is not such a line. */
export function transactionLineOf(bytes: Buffer, parsed: ParsedLine): DecodedLine | string {
  const { log, project: _, feature: __, iteration: ___, delta: ____, ...event } = parsed;
  if (!isObject(log)) return NOT_OURS;
  const isEventless = Object.keys(event).length === 0;
  if (isEventless) return { event: null, isRedacted: false, log };
  const payloadIndex = bytes.indexOf(PAYLOAD_MARK_BYTES);
  if (event.event_id === undefined || payloadIndex < 0 || !isObject(event.payload)) return NOT_OURS;
  const payload = bytes.subarray(payloadIndex + PAYLOAD_MARK_BYTES.length, bytes.length - 1);
  return { event, isRedacted: log.payload_sha256 !== base64urlDigest(payload), log };
}

/** Null: not a JSON object. */
export function parseObject(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}
