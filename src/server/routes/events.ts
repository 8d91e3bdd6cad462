import { positionOfCursor } from '../../coordinator/queries/cursor.js';
import { canonicalFilter } from '../../coordinator/queries/feed.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { STREAM_HEADERS, toResponse } from '../response.js';
import { type Handlers, jsonHandlers } from '../route.js';

export const eventHandlers = {
  ...jsonHandlers({
    events: ({ coordinator, projectKey, query }) => coordinator.feed.page(projectKey, query),
    recent_events: ({ coordinator, projectKey, query }) => coordinator.feed.recentPage(projectKey, query),
    agent_events: ({ coordinator, tenant, query }) => coordinator.feed.agentPage(tenant, query),
    append_event: ({ coordinator, projectKey, body, caller }) =>
      coordinator.holder.appendEvent(projectKey, body, caller),
    import_events: ({ coordinator, projectKey, body }) => coordinator.imports.importEvents(projectKey, body),
    trust_imports: ({ coordinator, projectKey, body, caller }) =>
      coordinator.imports.trustImports(projectKey, body, caller),
  }),

  events_stream: async ({ context, projectKey, query, request, connection, authorization }) => {
    const { after: queryCursor = '', ...filter } = canonicalFilter(query);
    const after = connection.header('last-event-id') || queryCursor;
    // Reads one page first, so that an invalid cursor gets the usual problem.
    const firstPage = await context.coordinator.feed.page(projectKey, {
      ...(after === 'now' ? {} : { after }),
      limit: 1,
    });
    if (isProblem(firstPage)) return toResponse(firstPage);
    if (request.method === 'HEAD') return { status: 200, headers: STREAM_HEADERS, body: '' };
    const position = after === 'now' ? 'now' : (positionOfCursor(after) ?? 0);
    const stream = await context.feeds.subscribe(projectKey, { filter, position, connection, authorization });
    return { status: 200, headers: STREAM_HEADERS, ...stream };
  },
} satisfies Partial<Handlers>;
