import type { EventEnvelope } from '../../../../src/core/contract/events.js';

/** A part of the log, newest first. `before` is where the next page ends; null if this page reaches the first event. */
export interface LogPage {
  readonly events: readonly EventEnvelope[];
  readonly before: number | null;
}

export const eventsOf = (pages: readonly LogPage[]): readonly EventEnvelope[] =>
  pages.flatMap(({ events }) => events);

const topOf = (pages: readonly LogPage[]): number =>
  pages.find(({ events }) => events.length > 0)?.events[0]?.position ?? 0;

export interface NewEvents {
  readonly count: number;
  /** Whether there are more new events than the newest page has. */
  readonly hasMore: boolean;
}

/** The events of the newest page that are not in the list yet. */
export function newEvents(pages: readonly LogPage[], { events, before }: LogPage): NewEvents {
  const top = topOf(pages);
  const count = events.filter(({ position }) => position > top).length;
  return { count, hasMore: count > 0 && count === events.length && before !== null && before > top + 1 };
}

/**
 * Adds the new events of the newest page, and drops old events beyond `eventsMax`, which can be read again. Returns null if
 * the newest page does not reach the events that were read, so that all must be read again.
 */
export function withNewest(
  pages: readonly LogPage[],
  newest: LogPage,
  eventsMax: number,
): readonly LogPage[] | null {
  const [first, ...olderPages] = pages;
  if (first === undefined) return null;
  const { count, hasMore } = newEvents(pages, newest);
  if (count === 0) return pages;
  if (hasMore) return null;
  const added = newest.events.slice(0, count);
  return limitEvents([{ ...first, events: [...added, ...first.events] }, ...olderPages], eventsMax);
}

function limitEvents(pages: readonly LogPage[], eventsMax: number): readonly LogPage[] {
  const keptPages: LogPage[] = [];
  let remainingCount = eventsMax;
  for (const page of pages) {
    const events = page.events.slice(0, remainingCount);
    remainingCount -= events.length;
    const isWhole = events.length === page.events.length;
    keptPages.push(isWhole ? page : { events, before: events.at(-1)?.position ?? page.before });
    if (remainingCount === 0) break;
  }
  return keptPages;
}
