import { createHash } from 'node:crypto';
import type { HistoryForgotten } from '../../core/events/record-events.js';
import type { PlacedEvent } from './read-log.js';

interface Forgotten {
  readonly file: string;
  readonly line: number;
  readonly position: number;
  readonly payload_sha256: string;
}

/** Lines that say less than they did, against what the log tells of its own forgetting. */
export class ForgottenLines {
  private readonly lines: Forgotten[] = [];
  /** The last word on each event: what is left of it. */
  private readonly told = new Map<number, string>();

  see({ event, file, line, forgotten }: PlacedEvent): void {
    if (event.event_type === 'HISTORY_FORGOTTEN') {
      const { events = [] } = event.payload as Partial<HistoryForgotten>;
      for (const { position, payload_sha256 } of events) this.told.set(position, payload_sha256);
    }
    if (!forgotten) return;
    const payload_sha256 = createHash('sha256').update(JSON.stringify(event.payload)).digest('hex');
    this.lines.push({ file, line, position: event.position, payload_sha256 });
  }

  unexplained(): Forgotten[] {
    return this.lines.filter(({ position, payload_sha256 }) => this.told.get(position) !== payload_sha256);
  }
}
