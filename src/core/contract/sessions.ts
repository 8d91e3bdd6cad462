import { z } from 'zod';
import { projectIdSchema, sessionIdSchema } from '../ids.js';
import { projectFields, taskClaim, taskFields } from './claim-records.js';
import { type ApiOperations, commandOperation, readOperation, TENANT_PATH } from './operation.js';
import {
  boundedText,
  count,
  jsonRecord,
  latestQuery,
  limitFields,
  mutationFields,
  namedObject,
  namedResult,
  nextPage,
  nextStep,
  pageQuery,
  type ReplyOf,
  time,
} from './schema.js';

export const PUBLIC_KEY_TEXT =
  'expected an Ed25519 public key: 32 bytes in base64url, a valid curve point and not a weak key';
/** The form of a public key. The coordinator checks that it is a point of the curve. */
export const publicKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/, { error: PUBLIC_KEY_TEXT, abort: true });
export const sessionBody = z.strictObject({
  session_id: sessionIdSchema.optional(),
  /** Default: the credential's user. */
  user_id: boundedText(200).optional(),
  project_id: projectIdSchema,
  public_key: publicKey.optional(),
  ...mutationFields,
});
export type SessionBody = z.infer<typeof sessionBody>;

const sessionRecord = namedObject('SessionRecord', {
  session_id: z.string(),
  ...projectFields,
  user_id: z.string().nullable(),
  state: z.enum(['open', 'closed']),
  created_at: time,
  closed_at: time.exactOptional(),
  public_key: z.string().exactOptional(),
});
const sessionResult = namedResult('SessionResult', [
  z.object({ success: z.literal(true), reason: z.enum(['OPENED', 'CLOSED']), session: sessionRecord }),
  z.object({
    success: z.literal(false),
    reason: z.literal('DENIED_LIMIT'),
    session: z.null(),
    ...limitFields,
    next: nextStep,
  }),
  z.object({
    success: z.literal(false),
    reason: z.enum(['SESSION_CLOSED', 'PUBLIC_KEY_CONFLICT']),
    session: sessionRecord,
    next: nextStep,
  }),
]);

/** Tasks, subtasks and merges, each counted once. */
export const progressCounts = z.object({ completed: count, in_progress: count, pending: count });
const taskLogEntry = z.object({
  ...taskFields,
  timestamp: time,
  event: z.string(),
  generation: count.nullable(),
  agent_id: z.string(),
  outcome: z.enum(['ACCEPTED', 'REJECTED']).nullable(),
  work_product_ref: z.string().nullable(),
  details: jsonRecord,
});
const claimRef = z.object({
  project_id: z.string(),
  task_id: z.string(),
  generation: count,
  expires_at: time.nullable(),
});
/** Actions of one session and events that affected it (specification 004 §3.5 and §4.2.1). */
const sessionMemory = namedObject('SessionMemory', {
  session_id: z.string(),
  tenant_id: z.string().nullable(),
  project_id: z.string().nullable(),
  user_id: z.string().nullable(),
  created_at: time.nullable(),
  last_activity: time.nullable(),
  task_log: z.array(taskLogEntry),
  active_claims: z.array(claimRef),
  completed_tasks: z.array(z.string()),
  track_assignments: z.record(z.string(), z.string()),
  track_progress: z
    .record(z.string(), progressCounts)
    .describe('tracks of the same name in several projects of the session are added up'),
  omitted: z
    .object({ task_log: count, active_claims: count, completed_tasks: count })
    .exactOptional()
    .describe('number of older items left out of each list, if any'),
});

export type SessionRecord = ReplyOf<typeof sessionRecord>;
export type SessionResult = ReplyOf<typeof sessionResult>;
export type ProgressCounts = ReplyOf<typeof progressCounts>;
export type TaskLogEntry = ReplyOf<typeof taskLogEntry>;
export type ClaimRef = ReplyOf<typeof claimRef>;
export type SessionMemory = ReplyOf<typeof sessionMemory>;

const SESSIONS_PATH = `${TENANT_PATH}/sessions` as const;
const SESSION_PATH = `${SESSIONS_PATH}/{session_id}` as const;

export const sessionOperations = {
  open_session: commandOperation(
    SESSIONS_PATH,
    'Open a session; the first claim of a session also opens it',
    sessionBody,
    sessionResult,
  ),
  list_sessions: readOperation(SESSIONS_PATH, 'List the sessions of the tenant, paginated', {
    query: pageQuery,
    reply: z.object({ sessions: z.array(sessionRecord), next: nextPage }),
  }),
  get_session: readOperation(SESSION_PATH, 'Get the history of a session, the latest items of each list', {
    query: latestQuery,
    reply: sessionMemory,
  }),
  close_session: {
    method: 'DELETE',
    path: SESSION_PATH,
    action: 'work',
    summary: 'Close a session and release its claims',
    reply: sessionResult,
    isRefusable: true,
  },
  get_active_claims_for_session: readOperation(
    `${SESSION_PATH}/claims`,
    'List the claims that a session holds now, paginated',
    { query: pageQuery, reply: z.object({ claims: z.array(taskClaim), next: nextPage }) },
  ),
} as const satisfies ApiOperations;
