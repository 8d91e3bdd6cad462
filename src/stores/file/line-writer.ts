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

/** Writes lines. Consecutive lines of a batch often have the same payload, so the digest of the last payload is kept. */
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
    const payload = JSON.stringify(event.payload);
    writeEnvelope(out, event, position);
    const envelope_end = out.length;
    writeOtherNames(out, event);
    out.ascii(',"log":{"payload_sha256":"');
    out.ascii(this.digestOfPayload(payload));
    out.ascii('"');
    writeText(out, ',"unit":"', unit === '' ? undefined : unit);
    if (fields !== null) writeRecordFields(out, fields);
    out.ascii('}');
    const covered_end = out.length;
    out.ascii(PAYLOAD_MARK);
    out.utf8(payload);
    out.ascii('}\n');
    return { envelope_end, covered_end };
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
export function writeRecordLine(out: ByteWriter, fields: TransactionFields): void {
  const start = out.length + '{"log":'.length;
  out.ascii('{"log":{');
  writeRecordFields(out, fields);
  // The first field has a comma before it, which becomes the brace.
  out.bytes.copyWithin(start, start + 1, out.length);
  out.bytes[start] = BRACE;
  out.length -= 1;
  out.ascii('}}\n');
}

const BRACE = 0x7b;

/** The text with which the event's leaf in the audit tree begins (core/audit/leaf.ts). */
function writeEnvelope(out: ByteWriter, event: NewEvent, position: number): void {
  out.ascii('{"event_id":"');
  out.jsonText(event.event_id);
  out.ascii('"');
  writeText(out, ',"event_type":"', event.event_type);
  writeText(out, ',"timestamp":"', event.timestamp);
  writeText(out, ',"tenant_id":"', event.tenant_id);
  writeText(out, ',"project_id":"', event.project_id);
  writeNumber(out, ',"position":', position);
  writeText(out, ',"subject":"', event.subject);
  writeNumber(out, ',"seq":', event.seq);
  writeText(out, ',"task_id":"', event.task_id);
  writeText(out, ',"feature_id":"', event.feature_id);
  writeText(out, ',"edge":"', event.edge);
  writeText(out, ',"agent_id":"', event.agent_id);
  writeText(out, ',"agent_role":"', event.agent_role);
  writeText(out, ',"session_id":"', event.session_id);
  writeNumber(out, ',"generation":', event.generation);
  writeText(out, ',"request_id":"', event.request_id);
}

/**
 * For an event of a feature: repeats the ids as `project` and `feature`, and the iteration and delta of the payload beside
 * them, where other tools of the methodology look for these.
 */
function writeOtherNames(out: ByteWriter, { feature_id, project_id, payload }: NewEvent): void {
  if (feature_id === undefined) return;
  writeText(out, ',"project":"', project_id);
  writeText(out, ',"feature":"', feature_id);
  const { iteration, delta } = payload;
  if (Number.isSafeInteger(iteration)) writeNumber(out, ',"iteration":', iteration as number);
  if (Number.isSafeInteger(delta)) writeNumber(out, ',"delta":', delta as number);
}

/** A text field, if there is one. `start` is everything up to the text. */
function writeText(out: ByteWriter, start: string, text: string | undefined): void {
  if (text === undefined) return;
  out.ascii(start);
  out.jsonText(text);
  out.ascii('"');
}

function writeNumber(out: ByteWriter, start: string, value: number | undefined): void {
  if (value === undefined) return;
  out.ascii(start);
  out.number(value);
}

function writeRecordFields(out: ByteWriter, { rules_seq, permits, requests }: TransactionFields): void {
  writeNumber(out, ',"rules_seq":', rules_seq);
  if (permits !== undefined) writeList(out, ',"slots":[', permits, writePermit);
  if (requests !== undefined) writeList(out, ',"requests":[', requests, writeRequest);
}

function writeList<T>(
  out: ByteWriter,
  start: string,
  items: readonly T[],
  writeItem: (out: ByteWriter, item: T) => void,
): void {
  out.ascii(start);
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) out.ascii(',');
    writeItem(out, items[index] as T);
  }
  out.ascii(']');
}

function writePermit(out: ByteWriter, { scope, member, until_ms }: Permit): void {
  writeText(out, '["', scope);
  writeText(out, ',"', member);
  out.ascii(',');
  if (until_ms === Number.POSITIVE_INFINITY) out.ascii('"forever"');
  else if (until_ms === null) out.ascii('null');
  else out.number(until_ms);
  out.ascii(']');
}

function writeRequest(out: ByteWriter, { key, digest, reply }: LoggedRequest): void {
  writeText(out, '{"key":"', key);
  writeText(out, ',"digest":"', digest);
  if (reply !== undefined) {
    out.ascii(',"reply":');
    out.utf8(JSON.stringify(JSON.stringify(reply)));
  }
  out.ascii('}');
}
