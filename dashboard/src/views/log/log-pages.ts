import type { EventEnvelope } from '../../../../src/core/contract/events.js';

/** A part of the log, newest first. `before`: where to read on; null: it reaches the first event. */
export interface LogPage {
  readonly events: readonly EventEnvelope[];
  readonly before: number | null;
}

export const eventsOf = (pages: readonly LogPage[]): readonly EventEnvelope[] =>
  pages.flatMap(({ events }) => events);

/** Adds what has happened since. Null: the newest page does not reach what was read, so all must be read again. */
export function withNewest(pages: readonly LogPage[], newest: LogPage): readonly LogPage[] | null {
  const [first, ...rest] = pages;
  if (first === undefined) return null;
  const top = eventsOf(pages)[0]?.position ?? 0;
  const added = newest.events.filter(({ position }) => position > top);
  if (added.length === 0) return pages;
  const isAdjacent =
    newest.before === null || newest.before <= top + 1 || added.length < newest.events.length;
  return isAdjacent ? [{ ...first, events: [...added, ...first.events] }, ...rest] : null;
}
