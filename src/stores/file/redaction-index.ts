import type { EventEnvelope } from '../../core/events/envelope.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';
import { digestRemaining, redactionsIn } from './redacted-lines.js';
import type { LogState } from './replay.js';

/** A redaction event: its position, and the range of positions it redacts. */
interface RedactionRange {
  readonly eventPosition: number;
  readonly first: number;
  readonly last: number;
}

const EVENTS_AT_ONCE = 50;

type ReadPositions = (positions: readonly number[]) => Promise<EventEnvelope[]>;

/**
 * Finds the redaction event for a single line. Keeping all digests would need too much memory, so only the range of
 * each event is kept, and the event is read again when needed.
 */
export class RedactionIndex {
  private readonly ranges: RedactionRange[] = [];
  /** How far the log was searched for redaction events. */
  private readUntil = 0;
  private catchingUp: Promise<void> | null = null;
  private latestRead: {
    readonly eventPosition: number;
    readonly digests: ReadonlyMap<number, string>;
  } | null = null;

  /** Whether the log records exactly this payload as what retention left of the event. */
  async isRecorded(event: EventEnvelope, state: LogState, read: ReadPositions): Promise<boolean> {
    await this.catchUp(state, read);
    // The last entry per event wins: retention may redact an event twice.
    for (const range of this.ranges.toReversed()) {
      if (event.position < range.first || event.position > range.last) continue;
      const digest = (await this.digestsOf(range.eventPosition, read)).get(event.position);
      if (digest !== undefined) return digest === digestRemaining(event.payload);
    }
    return false;
  }

  private catchUp(state: LogState, read: ReadPositions): Promise<void> {
    this.catchingUp ??= this.readNew(state, read).finally(() => {
      this.catchingUp = null;
    });
    return this.catchingUp;
  }

  private async readNew({ index }: LogState, read: ReadPositions): Promise<void> {
    const until_position = index.position;
    while (this.readUntil < until_position) {
      const page = { after: this.readUntil, until_position, limit: EVENTS_AT_ONCE };
      const positions = index.bySubject(HISTORY_SUBJECT, page);
      for (const event of await read(positions)) this.add(event);
      this.readUntil = positions.length < EVENTS_AT_ONCE ? until_position : (positions.at(-1) as number);
    }
  }

  private add(event: EventEnvelope): void {
    const positions = redactionsIn(event).map(({ position }) => position);
    if (positions.length === 0) return;
    this.ranges.push({
      eventPosition: event.position,
      first: Math.min(...positions),
      last: Math.max(...positions),
    });
  }

  private async digestsOf(eventPosition: number, read: ReadPositions): Promise<ReadonlyMap<number, string>> {
    if (this.latestRead?.eventPosition === eventPosition) return this.latestRead.digests;
    const [event] = await read([eventPosition]);
    const entries = event === undefined ? [] : redactionsIn(event);
    const digests = new Map(entries.map(({ position, payload_sha256 }) => [position, payload_sha256]));
    this.latestRead = { eventPosition, digests };
    return digests;
  }
}
