import { z } from 'zod';
import { isoTimestamp } from '../events/fields.js';
import { agentIdSchema, sessionIdSchema } from '../ids.js';
import { BATCH_ITEMS_MAX } from './claim-bodies.js';
import { APPEND_REFUSALS, TRUST_REFUSALS } from './codes.js';
import {
  type ApiOperations,
  commandOperation,
  jsonBody,
  PROJECT_PATH,
  readOperation,
  TENANT_PATH,
} from './operation.js';
import {
  boundedText,
  claimId,
  count,
  generationSchema,
  jsonRecord,
  mutationFields,
  namedObject,
  namedResult,
  nextPage,
  nextStep,
  pageLimit,
  plainObject,
  type ReplyOf,
  sha256Schema,
  subjectSchema,
  time,
  withinBytes,
} from './schema.js';

const PAYLOAD_BYTES_MAX = 64 * 1024;
/** Maximum number of chunks of an import, and the size of each. */
const IMPORT_CHUNKS_MAX = 64;
export const IMPORT_CHUNK_BYTES_MAX = 512 * 1024;

export const appendBody = z.strictObject({
  event_type: boundedText(100),
  task_id: subjectSchema.optional(),
  feature_id: boundedText(100).optional(),
  edge: boundedText(100).optional(),
  agent_id: agentIdSchema,
  agent_role: boundedText(64).optional(),
  session_id: sessionIdSchema.optional(),
  generation: generationSchema.optional(),
  claim_id: claimId.optional(),
  // Version 5 (name-based) is reserved for the events that the coordinator deduplicates.
  event_id: z
    .uuid()
    .refine((id) => id[14] !== '5', 'expected a UUID of any version except 5')
    .optional(),
  /** When the event happened, if not now. */
  occurred_at: isoTimestamp.optional(),
  payload: plainObject.refine(...withinBytes(PAYLOAD_BYTES_MAX)),
  ...mutationFields,
});
/** Events of other tools. `core/events/imported-event.ts` validates each one. */
export const importBody = z.strictObject({
  events: z.array(plainObject).max(BATCH_ITEMS_MAX),
  /**
   * Blobs of this tenant, each a JSON array of further events, so that an import may exceed one request. They are imported
   * together with `events`, all or none unless `in_parts` is set.
   */
  chunks: z.array(sha256Schema).max(IMPORT_CHUNKS_MAX).exactOptional(),
  in_parts: z
    .boolean()
    .exactOptional()
    .describe(
      'split an import that is too large for one transaction of the store into several, each all or nothing; otherwise it is refused',
    ),
  ...mutationFields,
});
/** The contents of a chunk of an import. */
export const importChunk = importBody.shape.events;
/** Trusts imported logs: completes the edges that they report as converged. */
export const trustImportsBody = z.strictObject({
  reason: boundedText(2000),
  /** Only report what would be trusted. */
  dry_run: z.boolean().optional(),
  ...mutationFields,
});

const cursor = z.string().max(200).exactOptional();
const textFilter = z.string().min(1).max(200).exactOptional();
const timeFilter = z.iso.datetime({ offset: true }).exactOptional();
const filterFields = {
  type: textFilter,
  task_id: textFilter,
  feature_id: textFilter,
  edge: textFilter,
  agent_id: textFilter,
  session_id: textFilter,
  since: timeFilter,
  until: timeFilter,
};
/** Selects events of one agent, in all projects of a tenant. */
const agentEventFilter = z.strictObject({
  agent_id: agentIdSchema,
  type: textFilter,
  since: timeFilter,
  until: timeFilter,
  after: cursor,
  limit: pageLimit,
});
const eventFilter = z.strictObject({ after: cursor, limit: pageLimit, ...filterFields });
const recentEventFilter = z.strictObject({
  before: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).exactOptional(),
  limit: pageLimit,
  ...filterFields,
});

/** An event in logs, feeds and pages. */
const eventEnvelope = namedObject('Event', {
  event_id: z.string(),
  event_type: z.string(),
  /** Time of the event. Events are ordered by `position` and `seq`, not by this. */
  timestamp: time,
  tenant_id: z.string(),
  project_id: z.string(),
  /** 1, 2, 3 … within the project, without gaps; assigned by the commit. */
  position: z.number().int().min(1),
  subject: z.string().exactOptional(),
  /** 1, 2, 3 … within the subject; only events that change its head have one. */
  seq: z.number().int().exactOptional(),
  task_id: z.string().exactOptional(),
  feature_id: z.string().exactOptional(),
  edge: z.string().exactOptional(),
  agent_id: z.string(),
  agent_role: z.string().exactOptional(),
  session_id: z.string().exactOptional(),
  generation: count.exactOptional(),
  request_id: z.string().exactOptional(),
  payload: jsonRecord,
});
const appendResult = namedResult('AppendResult', [
  z.object({ success: z.literal(true), reason: z.literal('APPENDED'), event_id: z.string() }),
  z.object({
    success: z.literal(false),
    reason: z.enum(APPEND_REFUSALS),
    event_id: z.null(),
    next: nextStep,
  }),
]);
const importedCount = z.object({ written: z.int(), already_there: z.int() });

const trustResult = z.object({
  trusted: z.array(z.object({ task_id: z.string(), generation: count })).describe('at most 500'),
  skipped: z
    .array(z.object({ task_id: z.string(), reason: z.enum(TRUST_REFUSALS), next: nextStep }))
    .describe('the first 100; `skipped_count` is the total number'),
  skipped_count: count,
  more: z.boolean().describe('there are more edges to trust: call again'),
});

export type AppendBody = z.infer<typeof appendBody>;
export type ImportBody = z.infer<typeof importBody>;
export type AgentEventFilter = z.infer<typeof agentEventFilter>;
export type EventFilter = z.infer<typeof eventFilter>;
export type RecentEventFilter = z.infer<typeof recentEventFilter>;
/** Mutable: an event is built field by field. */
export type EventEnvelope = z.output<typeof eventEnvelope>;
export type AppendResult = ReplyOf<typeof appendResult>;
export type TrustImportsBody = z.infer<typeof trustImportsBody>;
export type TrustResult = ReplyOf<typeof trustResult>;
export type ImportedCount = ReplyOf<typeof importedCount>;

const EVENTS_PATH = `${PROJECT_PATH}/events`;

export const eventOperations = {
  events: readOperation(
    EVENTS_PATH,
    'List the events of the project, paginated; `next` is the cursor of the next page',
    { query: eventFilter, reply: z.object({ events: z.array(eventEnvelope), next: z.string() }) },
  ),
  recent_events: readOperation(
    `${EVENTS_PATH}/recent`,
    'List the events of the project, newest first; a page may be short or empty, and `before` continues the search; it is null once the first event is reached',
    {
      query: recentEventFilter,
      reply: z.object({ events: z.array(eventEnvelope), before: count.nullable() }),
    },
  ),
  agent_events: readOperation(
    `${TENANT_PATH}/events`,
    'List the events of an agent in all projects of the tenant, by project and position, paginated',
    { query: agentEventFilter, reply: z.object({ events: z.array(eventEnvelope), next: nextPage }) },
  ),
  append_event: {
    ...commandOperation(
      EVENTS_PATH,
      'Append a methodology event; for claimed work only the holder may do so, and the decision of a person requires the permission to review',
      appendBody,
      appendResult,
    ),
    action: 'tell',
  },
  import_events: {
    method: 'POST',
    path: `${EVENTS_PATH}/import`,
    action: 'operate',
    summary: 'Import events of other tools, all or none; an event whose event_id exists already is skipped',
    body: jsonBody(importBody),
    reply: importedCount,
  },
  trust_imports: {
    method: 'POST',
    path: `${EVENTS_PATH}/import/trust`,
    action: 'administer',
    summary:
      'Adopt the convergences that imported logs report: completes each of these edges that was never claimed here',
    body: jsonBody(trustImportsBody),
    reply: trustResult,
  },
  events_stream: readOperation(
    `${EVENTS_PATH}/stream`,
    'Stream the events of the project as server-sent events; resume by Last-Event-ID, start now by after=now',
    // `after` may be `now`, for future events only.
    {
      query: z.strictObject({ after: cursor, ...filterFields }),
      reply: { content_type: 'text/event-stream' },
    },
  ),
} as const satisfies ApiOperations;
