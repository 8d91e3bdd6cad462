import { z } from 'zod';
import { positionOf } from '../../coordinator/cursor.js';
import { isProblem } from '../../coordinator/problem.js';
import { asInTheLog } from '../../coordinator/queries/wanted.js';
import { appendBody, importBody } from '../../coordinator/wire.js';
import { answer, STREAM_HEADERS } from '../answer.js';
import { type Ask, PROJECT, type Route, route, STREAMED, scopeOf } from '../route.js';
import { event } from '../schemas/overview.js';
import { appendResult } from '../schemas/work.js';

const EVENTS_MAX = 1000;
const word = z.string().min(1).max(200).exactOptional();
const moment = z.iso.datetime({ offset: true }).exactOptional();
const filters = {
  type: word,
  task_id: word,
  feature_id: word,
  edge: word,
  agent_id: word,
  session_id: word,
  since: moment,
  until: moment,
};
const eventQuery = z.strictObject({
  after: z.string().max(200).exactOptional(),
  limit: z.coerce.number().int().min(1).max(EVENTS_MAX).exactOptional(),
  ...filters,
});
/** `now`: only what happens from here on. */
const streamQuery = z.strictObject({ after: z.string().max(200).exactOptional(), ...filters });

export const eventRoutes: readonly Route[] = [
  route({
    id: 'events',
    method: 'GET',
    path: `${PROJECT}/events`,
    action: 'read',
    summary: 'The log of the project, a page at a time; `next` is the cursor to go on from',
    query: eventQuery,
    reply: z.object({ events: z.array(event), next: z.string() }),
    run: async ({ house, params, query }) =>
      answer(await house.coordinator.feed.page(scopeOf({ params }), query)),
  }),
  route({
    id: 'append_event',
    method: 'POST',
    path: `${PROJECT}/events`,
    action: 'tell',
    summary:
      'Tell a step of the methodology; of work that somebody holds, only its holder may; what a human decided, only who may review',
    body: { kind: 'json', schema: appendBody },
    reply: appendResult,
    decides: true,
    run: async ({ house, params, body, caller }: Ask) =>
      answer(await house.coordinator.appendEvent(scopeOf({ params }), body, caller)),
  }),
  route({
    id: 'import_events',
    method: 'POST',
    path: `${PROJECT}/events/import`,
    action: 'operate',
    summary: 'Bring in events of other tools; one whose event_id is there already is left out',
    body: { kind: 'json', schema: importBody },
    reply: z.object({ written: z.int(), already_there: z.int() }),
    run: async ({ house, params, body }: Ask) =>
      answer(await house.coordinator.importEvents(scopeOf({ params }), body)),
  }),
  route({
    id: 'events_stream',
    method: 'GET',
    path: `${PROJECT}/events/stream`,
    action: 'read',
    summary:
      'The log of the project as server-sent events, resumed by Last-Event-ID; after=now skips the past',
    query: streamQuery,
    reply: { content_type: 'text/event-stream' },
    run: async ({ house, params, query, incoming, outgoing, authorization }) => {
      const scope = scopeOf({ params });
      const { after: asked = '', ...wanted } = asInTheLog(query);
      const resumed = incoming.headers['last-event-id'];
      const after = typeof resumed === 'string' && resumed !== '' ? resumed : asked;
      // Asked once as a page, so that a wrong cursor is answered as everywhere.
      const known = await house.coordinator.feed.page(scope, {
        ...(after === 'now' ? {} : { after }),
        limit: 1,
      });
      if (isProblem(known)) return answer(known);
      if (incoming.method === 'HEAD') return { status: 200, headers: STREAM_HEADERS, body: '' };
      const position = after === 'now' ? 'now' : (positionOf(after) ?? 0);
      await house.feeds.listen(scope, wanted, position, outgoing, authorization);
      return STREAMED;
    },
  }),
];
