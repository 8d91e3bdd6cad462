import { positionOfCursor } from '../../coordinator/queries/cursor.js';
import { canonicalFilter } from '../../coordinator/queries/feed.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { STREAM_HEADERS, toResponse } from '../response.js';
import { type Handlers, projectKeyOf } from '../route.js';

export const eventHandlers = {
  events: async ({ context, params, query }) =>
    toResponse(await context.coordinator.feed.page(projectKeyOf({ params }), query)),

  append_event: async ({ context, params, body, caller }) =>
    toResponse(await context.coordinator.appendEvent(projectKeyOf({ params }), body, caller)),

  import_events: async ({ context, params, body }) =>
    toResponse(await context.coordinator.importEvents(projectKeyOf({ params }), body)),

  events_stream: async ({ context, params, query, request, connection, authorization }) => {
    const scope = projectKeyOf({ params });
    const { after: queryCursor = '', ...filter } = canonicalFilter(query);
    const after = request.headers.get('last-event-id') || queryCursor;
    // Reads one page first, so that an invalid cursor gets the usual problem.
    const firstPage = await context.coordinator.feed.page(scope, {
      ...(after === 'now' ? {} : { after }),
      limit: 1,
    });
    if (isProblem(firstPage)) return toResponse(firstPage);
    if (request.method === 'HEAD') return { status: 200, headers: STREAM_HEADERS, body: '' };
    const position = after === 'now' ? 'now' : (positionOfCursor(after) ?? 0);
    const stream = await context.feeds.subscribe(scope, { filter, position, connection, authorization });
    return { status: 200, headers: STREAM_HEADERS, ...stream };
  },
} satisfies Partial<Handlers>;
