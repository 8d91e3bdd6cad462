import { envelopeText } from '../../core/audit/leaf.js';
import { escapeJson } from '../../core/escape-json.js';
import type { NewEvent } from '../../core/events/envelope.js';
import type { TransactionFields } from '../ledger.js';
import type { LoggedRequest, Permit } from '../store.js';
import type { ByteWriter } from './byte-writer.js';
import { base64urlDigest, PAYLOAD_MARK } from './line.js';

/** Where the parts of the last line end. */
interface LineParts {
  /** The end of the part with which the event's leaf in the audit tree begins. */
  readonly envelope_end: number;
  /** The end of what the seal covers. */
  readonly covered_end: number;
}

/**
 * Writes lines. Each is joined as text and encoded in one call: writing its fields one by one into the buffer takes longer.
 * Consecutive lines of a batch often have the same payload, so the digest of the last payload is kept.
 */
export class LineWriter {
  private payload = '';
  private payloadSha256 = base64urlDigest('');

  constructor(private readonly out: ByteWriter) {}

  /** The digest of the last payload. */
  get payload_sha256(): string {
    return this.payloadSha256;
  }

  /** `unit` is empty for the only line of a transaction; `fields` belong on the last line. */
  event(event: NewEvent, position: number, unit: string, fields: TransactionFields | null): LineParts {
    const { out } = this;
    const start = out.length;
    const payload = JSON.stringify(event.payload);
    const envelope = envelopeText(event, position);
    const unitText = unit === '' ? '' : `,"unit":"${unit}"`;
    const recordText = fields === null ? '' : recordFieldsText(fields);
    const covered = `${envelope}${otherNamesText(event)},"log":{"payload_sha256":"${this.digestOfPayload(payload)}"${unitText}${recordText}}`;
    const line = `${covered}${PAYLOAD_MARK}${payload}}\n`;
    out.utf8(line);
    const isAscii = out.length - start === line.length;
    const bytesOf = (text: string): number => (isAscii ? text.length : Buffer.byteLength(text));
    return { envelope_end: start + bytesOf(envelope), covered_end: start + bytesOf(covered) };
  }

  private digestOfPayload(payload: string): string {
    if (payload !== this.payload) {
      this.payload = payload;
      this.payloadSha256 = base64urlDigest(payload);
    }
    return this.payloadSha256;
  }
}

/** The line of a transaction without events. */
export const writeRecordLine = (out: ByteWriter, fields: TransactionFields): void =>
  // The first field has a comma before it.
  out.utf8(`{"log":{${recordFieldsText(fields).slice(1)}}}\n`);

/**
 * For an event of a feature: repeats the ids as `project` and `feature`, and the iteration and delta of the payload beside
 * them, where other tools of the methodology look for these.
 */
function otherNamesText({ feature_id, project_id, payload }: NewEvent): string {
  if (feature_id === undefined) return '';
  const { iteration, delta } = payload;
  return (
    `,"project":"${escapeJson(project_id)}","feature":"${escapeJson(feature_id)}"` +
    (Number.isSafeInteger(iteration) ? `,"iteration":${iteration}` : '') +
    (Number.isSafeInteger(delta) ? `,"delta":${delta}` : '')
  );
}

const recordFieldsText = ({ rules_seq, permits, requests }: TransactionFields): string =>
  (rules_seq === undefined ? '' : `,"rules_seq":${rules_seq}`) +
  (permits === undefined ? '' : `,"slots":[${listText(permits, permitText)}]`) +
  (requests === undefined ? '' : `,"requests":[${listText(requests, requestText)}]`);

// Nearly always a list has one item or two: joining them this way takes half the time of `map` and `join`.
function listText<T>(items: readonly T[], textOf: (item: T) => string): string {
  let text = '';
  for (const item of items) text += text === '' ? textOf(item) : `,${textOf(item)}`;
  return text;
}

const permitText = ({ scope, member, until_ms }: Permit): string =>
  `["${escapeJson(scope)}","${escapeJson(member)}",${until_ms === Number.POSITIVE_INFINITY ? '"forever"' : until_ms}]`;

const requestText = ({ key, digest, reply }: LoggedRequest): string =>
  `{"key":"${escapeJson(key)}","digest":"${escapeJson(digest)}"${reply === undefined ? '' : `,"reply":${JSON.stringify(JSON.stringify(reply))}`}}`;
