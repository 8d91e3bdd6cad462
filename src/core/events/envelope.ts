import type { EventEnvelope } from '../contract/events.js';

export type { EventEnvelope };

/** An event as decided, before the coordinator adds its ids and the store its position. */
export type EventDraft = Omit<EventEnvelope, 'event_id' | 'tenant_id' | 'project_id' | 'position'>;

/** An event to commit: everything except the position, which the commit assigns. */
export type NewEvent = Omit<EventEnvelope, 'position'>;

/**
 * Recently formatted times, by their millisecond and minute. The commands of some milliseconds share their times and those
 * of their leases, which are formatted and parsed many times; looking them up takes a fraction of that.
 */
const MINUTES_APART = 7;
const recentTimes = new Array<{ readonly at_ms: number; readonly iso: string } | undefined>(
  1000 * MINUTES_APART,
);
const slotOf = (millisecond: number, minute: number): number =>
  millisecond * MINUTES_APART + (minute % MINUTES_APART);

export function isoTime(at_ms: number): string {
  const slot = slotOf(at_ms % 1000, Math.floor(at_ms / 60_000) % 60);
  const recent = recentTimes[slot];
  if (recent?.at_ms === at_ms) return recent.iso;
  const iso = new Date(at_ms).toISOString();
  if (Number.isInteger(slot) && slot >= 0) recentTimes[slot] = { at_ms, iso };
  return iso;
}

export function msOf(iso: string): number {
  const recent = recentTimes[slotOf(numberAt(iso, 20, 3), numberAt(iso, 14, 2))];
  return recent?.iso === iso ? recent.at_ms : Date.parse(iso);
}

const DIGIT_ZERO = 0x30;

/** The number that this many digits of a formatted time form; any number if the text has another form. */
function numberAt(text: string, start: number, digits: number): number {
  let value = 0;
  for (let at = start; at < start + digits; at += 1) value = value * 10 + text.charCodeAt(at) - DIGIT_ZERO;
  return value;
}
