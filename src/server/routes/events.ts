import { z } from 'zod';
import { canonicalFilter } from '../../coordinator/queries/canonical-filter.js';
import { positionOfCursor } from '../../coordinator/queries/cursor.js';
import { appendBody, importBody } from '../../coordinator/wire/index.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { STREAM_HEADERS, toResponse } from '../response.js';
import {
  defineRoute,
  PROJECT_PATH,
  projectKeyOf,
  type RequestContext,
  type Route,
  STREAMED,
} from '../route.js';
import { event } from '../schemas/overview.js';
import { appendResult } from '../schemas/work.js';

const EVENTS_MAX = 1000;
const textFilter = z.string().min(1).max(200).exactOptional();
const timeFilter = z.iso.datetime({ offset: true }).exactOptional();
const eventFilterFields = {
  type: textFilter,
  task_id: textFilter,
  feature_id: textFilter,
  edge: textFilter,
  agent_id: textFilter,
  session_id: textFilter,
  since: timeFilter,
  until: timeFilter,
};
const eventQuery = z.strictObject({
  after: z.string().max(200).exactOptional(),
  limit: z.coerce.number().int().min(1).max(EVENTS_MAX).exactOptional(),
  ...eventFilterFields,
});
/** `after` may be `now`, for future events only. */
const streamQuery = z.strictObject({ after: z.string().max(200).exactOptional(), ...eventFilterFields });

export const eventRoutes: readonly Route[] = [
  defineRoute({
    id: 'events',
    method: 'GET',
    path: `${PROJECT_PATH}/events`,
    action: 'read',
    summary: 'The log of the project, a page at a time; `next` is the cursor to go on from',
    query: eventQuery,
    reply: z.object({ events: z.array(event), next: z.string() }),
    run: async ({ context, params, query }) =>
      toResponse(await context.coordinator.feed.page(projectKeyOf({ params }), query)),
  }),
  defineRoute({
    id: 'append_event',
    method: 'POST',
    path: `${PROJECT_PATH}/events`,
    action: 'tell',
    summary:
      'Tell a step of the methodology; of work that somebody holds, only its holder may; what a human decided, only who may review',
    body: { kind: 'json', schema: appendBody },
    reply: appendResult,
    isRefusable: true,
    run: async ({ context, params, body, caller }: RequestContext) =>
      toResponse(await context.coordinator.appendEvent(projectKeyOf({ params }), body, caller)),
  }),
  defineRoute({
    id: 'import_events',
    method: 'POST',
    path: `${PROJECT_PATH}/events/import`,
    action: 'operate',
    summary: 'Bring in events of other tools; one whose event_id is there already is left out',
    body: { kind: 'json', schema: importBody },
    reply: z.object({ written: z.int(), already_there: z.int() }),
    run: async ({ context, params, body }: RequestContext) =>
      toResponse(await context.coordinator.importEvents(projectKeyOf({ params }), body)),
  }),
  defineRoute({
    id: 'events_stream',
    method: 'GET',
    path: `${PROJECT_PATH}/events/stream`,
    action: 'read',
    summary:
      'The log of the project as server-sent events, resumed by Last-Event-ID; after=now skips the past',
    query: streamQuery,
    reply: { content_type: 'text/event-stream' },
    run: async ({ context, params, query, incoming, outgoing, authorization }) => {
      const scope = projectKeyOf({ params });
      const { after: queryCursor = '', ...filter } = canonicalFilter(query);
      const lastEventId = incoming.headers['last-event-id'];
      const after = typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : queryCursor;
      // Reads one page first, so that an invalid cursor gets the usual problem.
      const firstPage = await context.coordinator.feed.page(scope, {
        ...(after === 'now' ? {} : { after }),
        limit: 1,
      });
      if (isProblem(firstPage)) return toResponse(firstPage);
      if (incoming.method === 'HEAD') return { status: 200, headers: STREAM_HEADERS, body: '' };
      const position = after === 'now' ? 'now' : (positionOfCursor(after) ?? 0);
      await context.feeds.subscribe(scope, filter, position, outgoing, authorization);
      return STREAMED;
    },
  }),
];
