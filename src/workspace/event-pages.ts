import type { EventEnvelope } from '../core/events/envelope.js';
import type { EventQuery, ProjectKey, Store } from '../stores/store.js';

const PAGE_SIZE = 1000;

/** The events of a query up to a position, read in pages. */
export async function* eventsUntil(
  { store, key }: { readonly store: Pick<Store, 'events'>; readonly key: ProjectKey },
  query: Omit<EventQuery, 'limit'> & { readonly until_position: number },
): AsyncGenerator<EventEnvelope> {
  for (let { after } = query; ; ) {
    const page = await store.events(key, { ...query, after, limit: PAGE_SIZE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_SIZE) return;
    after = last.position;
  }
}
