import { positionOfCursor } from '../../coordinator/queries/cursor.js';
import { canonicalFilter } from '../../coordinator/queries/feed.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { STREAM_HEADERS, toResponse } from '../response.js';
import { type Handlers, jsonHandlers } from '../route.js';

export const eventHandlers = {
  ...jsonHandlers({
    events: ({ coordinator, project, query }) => coordinator.feed.page(project, query),
    recent_events: ({ coordinator, project, query }) => coordinator.feed.recentPage(project, query),
    agent_events: ({ coordinator, tenant, query }) => coordinator.feed.agentPage(tenant, query),
    append_event: ({ coordinator, project, body, caller }) =>
      coordinator.holder.appendEvent(project, body, caller),
    import_events: ({ coordinator, project, body }) => coordinator.imports.importEvents(project, body),
    trust_imports: ({ coordinator, project, body, caller }) =>
      coordinator.imports.trustImports(project, body, caller),
  }),

  events_stream: async ({ context, project, query, request, connection, authorization }) => {
    const { after: queryCursor = '', ...filter } = canonicalFilter(query);
    const after = connection.header('last-event-id') || queryCursor;
    // Reads one page first, so that an invalid cursor gets the usual problem.
    const firstPage = await context.coordinator.feed.page(project, {
      ...(after === 'now' ? {} : { after }),
      limit: 1,
    });
    if (isProblem(firstPage)) return toResponse(firstPage);
    if (request.method === 'HEAD') return { status: 200, headers: STREAM_HEADERS, body: '' };
    const position = after === 'now' ? 'now' : (positionOfCursor(after) ?? 0);
    const stream = await context.feeds.subscribe(project, { filter, position, connection, authorization });
    return { status: 200, headers: STREAM_HEADERS, ...stream };
  },
} satisfies Partial<Handlers>;
