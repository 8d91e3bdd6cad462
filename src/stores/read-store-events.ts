import type { EventEnvelope } from '../core/events/envelope.js';
import type { EventQuery, ProjectKey, Store } from './store.js';

const PAGE_EVENTS = 1000;

/** Every event of a project that matches, page by page. */
export async function* readStoreEvents(
  store: Pick<Store, 'events'>,
  projectKey: ProjectKey,
  query: Pick<EventQuery, 'subject'> = {},
): AsyncGenerator<EventEnvelope> {
  for (let after = 0; ; ) {
    const events = await store.events(projectKey, { ...query, after, limit: PAGE_EVENTS });
    yield* events;
    if (events.length < PAGE_EVENTS) return;
    after = events.at(-1)?.position ?? after;
  }
}
