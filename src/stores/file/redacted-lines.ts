import { createHash } from 'node:crypto';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { REDACTION_EVENT } from '../../core/events/known-event-types.js';
import type { HistoryRedacted } from '../../core/events/record-events.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';

export const UNRECORDED_REDACTION = 'its payload was changed, and no event records a redaction';

/** The digest of a remaining payload, as a redaction event records it. */
export const digestRemaining = (payload: EventEnvelope['payload']): string =>
  createHash('sha256').update(JSON.stringify(payload)).digest('hex');

/**
 * The entries of a redaction event: the digest of what remains of each event. Only the coordinator writes events about the
 * subject `~history`; an imported event of the same type has no subject, and does not count.
 */
export function redactionsIn({ event_type, subject, payload }: EventEnvelope): HistoryRedacted['events'] {
  if (event_type !== REDACTION_EVENT || subject !== HISTORY_SUBJECT) return [];
  return Array.isArray(payload.events) ? payload.events : [];
}

interface RedactedLine<Location> {
  readonly location: Location;
  readonly position: number;
  readonly payload_sha256: string;
}

/**
 * The redacted lines of a log, compared with the log's redaction events. The digest in such a line is that of the
 * original payload, so only a redaction event distinguishes retention from tampering.
 */
export class RedactedLines<Location> {
  private readonly lines: RedactedLine<Location>[] = [];
  /** The last entry per event wins: retention may redact an event twice. */
  private readonly digestByPosition = new Map<number, string>();

  add(event: EventEnvelope, isRedacted: boolean, location: Location): void {
    for (const { position, payload_sha256 } of redactionsIn(event))
      this.digestByPosition.set(position, payload_sha256);
    if (!isRedacted) return;
    this.lines.push({ location, position: event.position, payload_sha256: digestRemaining(event.payload) });
  }

  /** Call it only after the whole log was read: a redaction event comes after the lines whose digests it records. */
  unrecorded(): Location[] {
    return this.lines
      .filter(({ position, payload_sha256 }) => this.digestByPosition.get(position) !== payload_sha256)
      .map(({ location }) => location);
  }
}
