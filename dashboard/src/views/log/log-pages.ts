import type { EventEnvelope } from '../../../../src/core/contract/events.js';

/** A part of the log, newest first. `before`: where to read on; null: it reaches the first event. */
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
  /** There are more than the newest page has. */
  readonly isMore: boolean;
}

/** The events of the newest page that are not in the list yet. */
export function newEvents(pages: readonly LogPage[], { events, before }: LogPage): NewEvents {
  const top = topOf(pages);
  const count = events.filter(({ position }) => position > top).length;
  return { count, isMore: count > 0 && count === events.length && before !== null && before > top + 1 };
}

/**
 * Adds what has happened since, and drops old events beyond `eventsMax`: they can be read again. Null: the newest page does
 * not reach what was read, so all must be read again.
 */
export function withNewest(
  pages: readonly LogPage[],
  newest: LogPage,
  eventsMax: number,
): readonly LogPage[] | null {
  const [first, ...rest] = pages;
  if (first === undefined) return null;
  const { count, isMore } = newEvents(pages, newest);
  if (count === 0) return pages;
  if (isMore) return null;
  const added = newest.events.slice(0, count);
  return withinEvents([{ ...first, events: [...added, ...first.events] }, ...rest], eventsMax);
}

function withinEvents(pages: readonly LogPage[], eventsMax: number): readonly LogPage[] {
  const kept: LogPage[] = [];
  let left = eventsMax;
  for (const page of pages) {
    const events = page.events.slice(0, left);
    left -= events.length;
    const isWhole = events.length === page.events.length;
    kept.push(isWhole ? page : { events, before: events.at(-1)?.position ?? page.before });
    if (left === 0) break;
  }
  return kept;
}
