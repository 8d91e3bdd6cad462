import { claimEventKindOf } from '../../../../src/core/claims/claim-event-kinds.js';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import { type NotableEvent, notableEvent } from './notable-events.js';

const MINUTE_MS = 60_000;
export const MINUTES_SHOWN = 60;
const NOTABLE_MAX = 200;
const ACCEPTED_MAX = 100_000;
const HOLDERS_MAX = 10_000;

/** What the page keeps of the events of the last hour. */
export interface Activity {
  /** Times of the accepted results, in order of the log. */
  readonly accepted: readonly number[];
  /** Newest first. */
  readonly notable: readonly NotableEvent[];
  /** The last known holder per subject. */
  readonly holders: ReadonlyMap<string, string>;
}

export const NO_ACTIVITY: Activity = { accepted: [], notable: [], holders: new Map() };

/** Adds events in the order of the log, and drops what is older than an hour. */
export function addEvents(before: Activity, events: readonly EventEnvelope[], nowMs: number): Activity {
  const accepted = [...before.accepted];
  const added: NotableEvent[] = [];
  const holders = new Map(before.holders);
  for (const event of events) {
    const { subject = '', agent_id, event_type } = event;
    const kind = claimEventKindOf(event_type);
    const notable = notableEvent(event, holders.get(subject));
    if (notable !== null) added.push(notable);
    if (kind === 'accepted' || kind === 'adopted') accepted.push(Date.parse(event.timestamp));
    if (kind === 'granted' || kind === 'lost') holders.set(subject, agent_id);
  }
  const startMs = nowMs - MINUTES_SHOWN * MINUTE_MS;
  return {
    accepted: accepted.filter((atMs) => atMs > startMs).slice(-ACCEPTED_MAX),
    notable: [...added.reverse(), ...before.notable].slice(0, NOTABLE_MAX),
    holders: holders.size > HOLDERS_MAX ? new Map([...holders].slice(-HOLDERS_MAX)) : holders,
  };
}

/** Accepted results per minute of the last hour, oldest first. */
export function acceptedPerMinute(accepted: readonly number[], nowMs: number): number[] {
  const counts = new Array<number>(MINUTES_SHOWN).fill(0);
  for (const atMs of accepted) {
    const minutesAgo = Math.max(0, Math.floor((nowMs - atMs) / MINUTE_MS));
    const index = MINUTES_SHOWN - 1 - minutesAgo;
    if (index >= 0) counts[index] = (counts[index] as number) + 1;
  }
  return counts;
}
