import { type ClaimEventKind, claimEventKindOf } from '../../../../src/core/claims/claim-event-kinds.js';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import { adoptedRow, type FeedEvent, feedEvent, isNotable, type KnownHolder } from './feed-events.js';

const MINUTE_MS = 60_000;
export const MINUTES_SHOWN = 60;
const FEED_MAX = 200;
const ACCEPTED_MAX = 100_000;
const NAMES_MAX = 10_000;

/** How the last claim of an agent ended. */
export interface LastOutcome {
  readonly kind: 'accepted' | 'lost' | 'result_refused';
  readonly subject: string;
  readonly at: string;
}

/** The recent events, at first those of the last hour, in the forms that the page shows. */
export interface Activity {
  /** The times of the results that were accepted or adopted in the last hour, in the order of the log. */
  readonly acceptedAtMs: readonly number[];
  /** A line for each of the last `FEED_MAX` events that the page shows, newest first. */
  readonly feed: readonly FeedEvent[];
  /** Only events that deviate from the plan, newest first: ordinary events do not displace them. */
  readonly notable: readonly FeedEvent[];
  /** The last known holder per subject. */
  readonly holders: ReadonlyMap<string, KnownHolder>;
  /** The last outcome per agent. */
  readonly outcomes: ReadonlyMap<string, LastOutcome>;
}

export const NO_ACTIVITY: Activity = {
  acceptedAtMs: [],
  feed: [],
  notable: [],
  holders: new Map(),
  outcomes: new Map(),
};

/** Adds events in the order of the log. Drops accepted results older than an hour, and the oldest entries beyond a maximum. */
export function addEvents(before: Activity, events: readonly EventEnvelope[], nowMs: number): Activity {
  const acceptedAtMs = [...before.acceptedAtMs];
  const added: FeedEvent[] = [];
  const holders = new Map(before.holders);
  const outcomes = new Map(before.outcomes);
  const adoptedIds = new Set<string>();
  for (const event of events) {
    const kind = claimEventKindOf(event.event_type);
    const feedEntry = feedEvent(event, holders.get(event.subject ?? ''));
    if (feedEntry !== null) added.push(feedEntry);
    if (kind === 'accepted' || kind === 'adopted') acceptedAtMs.push(Date.parse(event.timestamp));
    if (kind === 'adopted') adoptedIds.add(adoptedResult(event));
    recordHolder(holders, kind, event);
    recordOutcome(outcomes, kind, event);
  }
  added.reverse();
  const startMs = nowMs - MINUTES_SHOWN * MINUTE_MS;
  return {
    acceptedAtMs: acceptedAtMs.filter((atMs) => atMs > startMs).slice(-ACCEPTED_MAX),
    feed: withAdopted([...added, ...before.feed].slice(0, FEED_MAX), adoptedIds),
    notable: withAdopted([...added.filter(isNotable), ...before.notable].slice(0, FEED_MAX), adoptedIds),
    holders: newestEntries(holders),
    outcomes: newestEntries(outcomes),
  };
}

const adoptedResult = ({ payload }: EventEnvelope): string =>
  String((payload.adopted_from as { result_id?: unknown } | undefined)?.result_id);

const withAdopted = (rows: readonly FeedEvent[], adoptedIds: ReadonlySet<string>): readonly FeedEvent[] =>
  adoptedIds.size === 0
    ? rows
    : rows.map((row) => (adoptedIds.has(row.parkedResult ?? '') ? adoptedRow(row) : row));

function recordHolder(
  holders: Map<string, KnownHolder>,
  kind: ClaimEventKind | undefined,
  { subject = '', agent_id, payload }: EventEnvelope,
): void {
  const isSame = holders.get(subject)?.agent_id === agent_id;
  if (kind === 'granted' || (kind === 'lost' && !isSame)) holders.set(subject, { agent_id, note: '' });
  if (kind === 'noted' && isSame) holders.set(subject, { agent_id, note: String(payload.text ?? '') });
}

function recordOutcome(
  outcomes: Map<string, LastOutcome>,
  kind: ClaimEventKind | undefined,
  { subject = '', agent_id, timestamp: at, payload }: EventEnvelope,
): void {
  const isLost = kind === 'lost' && payload.cause === 'EXPIRED' && payload.disposition !== 'held';
  if (isLost || kind === 'accepted' || kind === 'result_refused')
    outcomes.set(agent_id, { kind, subject, at });
  else if (kind === 'granted') outcomes.delete(agent_id);
}

const newestEntries = <T>(map: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
  map.size > NAMES_MAX ? new Map([...map].slice(-NAMES_MAX)) : map;

/** Accepted results per minute of the last hour, oldest first. */
export function acceptedPerMinute(acceptedAtMs: readonly number[], nowMs: number): number[] {
  const counts = new Array<number>(MINUTES_SHOWN).fill(0);
  for (const atMs of acceptedAtMs) {
    const minutesAgo = Math.max(0, Math.floor((nowMs - atMs) / MINUTE_MS));
    const index = MINUTES_SHOWN - 1 - minutesAgo;
    if (index >= 0) counts[index] = (counts[index] as number) + 1;
  }
  return counts;
}
