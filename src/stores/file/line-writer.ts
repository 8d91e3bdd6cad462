import type { NewEvent } from '../../core/events/envelope.js';
import type { UnitRecord } from '../ledger.js';
import type { Slot } from '../store.js';
import { CHAIN_START, digestOf, HEADER, NO_HASH, PAYLOAD, type RecordedRequest } from './line.js';

export interface LinePlace {
  readonly prev: string;
  /** Of the event, where the line has one. */
  readonly position: number;
  /** From 1. */
  readonly part: number;
  readonly parts: number;
  readonly durable?: number | undefined;
  readonly at_ms?: number | undefined;
}

const FIRST_BYTES = 64 * 1024;
/** A character of UTF-16 takes at most three bytes in UTF-8. */
const BYTES_PER_CHARACTER_MAX = 3;
/** The hash of a line is known only when its text is there. */
const BLANK_HEADER = `${HEADER}${NO_HASH}",`;

/**
 * Writes lines one after the other into one buffer that grows, and hashes each where it stands. The commands of a
 * batch are decided together, so a line often says in part what the line before it said: that is made once.
 */
export class LineWriter {
  length = 0;
  private buffer = Buffer.allocUnsafe(FIRST_BYTES);
  private payload = '';
  private payload_sha256 = digestOf('');
  private occasion: Occasion = { event_type: '', timestamp: '', tenant_id: '', project_id: '' };
  private occasion_text = occasionText(this.occasion);

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** Returns the hash of the line. `record` belongs on the last line of its unit. */
  write(event: NewEvent | null, place: LinePlace, record: UnitRecord | null): string {
    const start = this.length;
    const payload = event === null ? '{}' : JSON.stringify(event.payload);
    const envelope = event === null ? '' : this.envelopeText(event, place.position);
    this.append(`${BLANK_HEADER}${envelope}"log":${logText(place, this.digestOfPayload(payload), record)}`);
    const own = digestOf(this.buffer.subarray(start + CHAIN_START, this.length));
    this.buffer.write(own, start + HEADER.length, 'latin1');
    this.append(`${PAYLOAD}${payload}}\n`);
    return own;
  }

  // This runs for every event: joining by hand takes half the time of a stringify of the whole.
  private envelopeText(event: NewEvent, position: number): string {
    let text = `"event_id":"${escaped(event.event_id)}",${this.textOfOccasion(event)},"position":${position}`;
    if (event.subject !== undefined) text += `,"subject":"${escaped(event.subject)}"`;
    if (event.seq !== undefined) text += `,"seq":${event.seq}`;
    if (event.task_id !== undefined) text += `,"task_id":"${escaped(event.task_id)}"`;
    if (event.feature_id !== undefined) text += `,"feature_id":"${escaped(event.feature_id)}"`;
    if (event.edge !== undefined) text += `,"edge":"${escaped(event.edge)}"`;
    text += `,"agent_id":"${escaped(event.agent_id)}"`;
    if (event.agent_role !== undefined) text += `,"agent_role":"${escaped(event.agent_role)}"`;
    if (event.session_id !== undefined) text += `,"session_id":"${escaped(event.session_id)}"`;
    if (event.generation !== undefined) text += `,"generation":${event.generation}`;
    if (event.request_id !== undefined) text += `,"request_id":"${escaped(event.request_id)}"`;
    return `${text},`;
  }

  private textOfOccasion(event: Occasion): string {
    if (!isSameOccasion(event, this.occasion)) {
      this.occasion = event;
      this.occasion_text = occasionText(event);
    }
    return this.occasion_text;
  }

  private digestOfPayload(payload: string): string {
    if (payload !== this.payload) {
      this.payload = payload;
      this.payload_sha256 = digestOf(payload);
    }
    return this.payload_sha256;
  }

  private append(text: string): void {
    const needed = this.length + text.length * BYTES_PER_CHARACTER_MAX;
    if (needed > this.buffer.length) this.grow(needed);
    this.length += this.buffer.write(text, this.length);
  }

  private grow(needed: number): void {
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}

/** What many events have in common that happen at once. */
type Occasion = Pick<NewEvent, 'event_type' | 'timestamp' | 'tenant_id' | 'project_id'>;

const isSameOccasion = (one: Occasion, other: Occasion): boolean =>
  one.event_type === other.event_type &&
  one.timestamp === other.timestamp &&
  one.tenant_id === other.tenant_id &&
  one.project_id === other.project_id;

const occasionText = ({ event_type, timestamp, tenant_id, project_id }: Occasion): string =>
  `"event_type":"${escaped(event_type)}","timestamp":"${escaped(timestamp)}"` +
  `,"tenant_id":"${escaped(tenant_id)}","project_id":"${escaped(project_id)}"`;

function logText(place: LinePlace, payload_sha256: string, record: UnitRecord | null): string {
  let text = `{"prev":"${place.prev}","unit":"${place.part}/${place.parts}","payload_sha256":"${payload_sha256}"`;
  if (place.durable !== undefined) text += `,"durable":${place.durable}`;
  if (place.at_ms !== undefined) text += `,"at_ms":${place.at_ms}`;
  if (record?.rules_seq !== undefined) text += `,"rules_seq":${record.rules_seq}`;
  if (record?.slots !== undefined) text += `,"slots":[${joined(record.slots, slotText)}]`;
  if (record?.requests !== undefined) text += `,"requests":[${joined(record.requests, requestText)}]`;
  return `${text}}`;
}

/** A list of one or two needs no array of texts on the way. */
function joined<T>(items: readonly T[], textOf: (item: T) => string): string {
  let text = '';
  for (const item of items) text += text === '' ? textOf(item) : `,${textOf(item)}`;
  return text;
}

function slotText({ scope, member, until_ms }: Slot): string {
  const until = until_ms === Number.POSITIVE_INFINITY ? '"forever"' : until_ms;
  return `{"scope":"${escaped(scope)}","member":"${escaped(member)}","until_ms":${until}}`;
}

function requestText({ key, digest, reply }: RecordedRequest): string {
  const told = reply === undefined ? '' : `,"reply":${JSON.stringify(JSON.stringify(reply))}`;
  return `{"key":"${escaped(key)}","digest":"${escaped(digest)}"${told}}`;
}

const PLAIN_TEXT = /^[ !#-[\]-~]*$/;
/** Text as it stands between the quotes of JSON. */
const escaped = (text: string): string => (PLAIN_TEXT.test(text) ? text : JSON.stringify(text).slice(1, -1));
