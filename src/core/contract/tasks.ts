import { z } from 'zod';
import { RELEASE_REASONS } from '../claims/head.js';
import { checkOutcomeSchema } from '../engine/check-outcome.js';
import { isoTimestamp } from '../events/fields.js';
import { agentIdSchema, sessionIdSchema } from '../ids.js';
import { effectiveCheck, evidencePolicyStatus } from './checks.js';
import { handleFields, leaseFields } from './claim-bodies.js';
import { projectFields, taskClaim, taskFields } from './claim-records.js';
import { noteResult } from './claim-replies.js';
import { CLAIM_REFUSALS, OPERATOR_REFUSALS, OPERATOR_SUCCESSES } from './codes.js';
import { type ApiOperations, commandOperation, jsonBody, PROJECT_PATH, readOperation } from './operation.js';
import { problemDocument } from './problem.js';
import { reviewEntry } from './reviews.js';
import {
  atField,
  atQuery,
  boundedText,
  count,
  generationSchema,
  jsonRecord,
  latestQuery,
  mutationFields,
  namedObject,
  namedResult,
  nextPage,
  nextStep,
  PAGE_MAX,
  pageLimit,
  pageQuery,
  type ReplyOf,
  time,
  withinBytes,
  withName,
} from './schema.js';
import { READINESS } from './values.js';

/** The state and history of a task or an edge, its notes and results, and an operator's commands on it. */

const NOTE_BYTES_MAX = 4096;
const phase = z.enum(['OPEN', 'COMPLETED']);

// Requests

export const noteBody = z.strictObject({
  ...handleFields,
  generation: generationSchema,
  text: boundedText(NOTE_BYTES_MAX).refine(...withinBytes(NOTE_BYTES_MAX)),
  /**
   * Origin of a note that was written offline and pushed later. The id of the note is not sent, because it derives from the
   * content and the offline generation.
   */
  offline: z.strictObject({ generation: generationSchema, occurred_at: isoTimestamp }).optional(),
  ...mutationFields,
});
export const taskIdsBody = z.strictObject({ task_ids: z.array(z.string().max(200)).max(PAGE_MAX) });
const taskFilter = z.strictObject({
  phase: phase.exactOptional(),
  readiness: z.enum(READINESS).exactOptional(),
  track: z.string().max(100).exactOptional(),
  after: z.string().max(200).exactOptional(),
  limit: pageLimit,
  ...atField,
});

/** `session_id`: the caller's session. The reply states whether this session holds the work. */
const explainQuery = z.strictObject({ session_id: sessionIdSchema.exactOptional() });

const operatorFields = {
  expected_generation: generationSchema,
  reason: boundedText(2000),
  ...mutationFields,
};
const plainOperator = z.strictObject(operatorFields);
export const operatorBodies = {
  force_release: plainOperator,
  reset: plainOperator,
  hold: plainOperator,
  unhold: plainOperator,
  reassign: z.strictObject({
    ...operatorFields,
    agent_id: agentIdSchema,
    session_id: sessionIdSchema,
    agent_role: boundedText(64).optional(),
    ...leaseFields,
  }),
  adopt: z.strictObject({ ...operatorFields, result_id: boundedText(100) }),
} as const;

export type NoteBody = z.infer<typeof noteBody>;
export type TaskFilter = z.infer<typeof taskFilter>;
export type OperatorVerb = keyof typeof operatorBodies;

// Replies

const taskStateResult = z.object({
  result_id: z.string(),
  generation: count,
  agent_id: z.string(),
  session_id: z.string(),
  sha256: z.string(),
  work_product_ref: z.string(),
  submitted_at: time,
});
const stateFields = {
  task_id: z.string(),
  phase,
  readiness: z.enum(READINESS),
  generation: count,
  claim: taskClaim.nullable(),
  result: taskStateResult.nullable(),
  waiting_for: z.array(z.string()),
  parked: count.describe('number of refused results that are kept'),
  title: z.string().describe('title of the feature, for an edge').exactOptional(),
  checks: z.array(effectiveCheck).describe('checks that the result of an edge must pass').exactOptional(),
};
const taskState = withName('TaskState', z.object(stateFields));
/** The task's current state, and whether the command succeeded. */
const operatorResult = namedResult('OperatorResult', [
  z.object({ success: z.literal(true), reason: z.enum(OPERATOR_SUCCESSES), ...stateFields }),
  z.object({ success: z.literal(false), reason: z.enum(OPERATOR_REFUSALS), ...stateFields, next: nextStep }),
]);

const generationFields = {
  ...taskFields,
  ...projectFields,
  id: z.string(),
  generation: count,
  session_id: z.string(),
  agent_id: z.string(),
};
/** A submitted result and its outcome (specification 004 §4.2.1). */
const taskResult = namedObject('TaskResult', {
  ...generationFields,
  work_product_ref: z.string(),
  /** Null if the result is in a blob, or was refused and not kept. */
  result_data: z.unknown(),
  blob_sha256: z.string().nullable(),
  metadata: jsonRecord,
  submitted_at: time,
  accepted: z.boolean(),
  rejection_reason: z.string().nullable(),
  /** Generation in force when the result was refused; null if it was accepted. */
  current_generation: count.nullable(),
  parked: z.boolean(),
});
/** One generation of a subject, from grant to end (specification 004 §4.2.1). */
const claimHistory = namedObject('ClaimHistory', {
  /** `id` is the id of the event that granted the generation. */
  ...generationFields,
  user_id: z.string().nullable(),
  acquired_at: time,
  /** Null while the claim is open. */
  released_at: time.nullable(),
  release_reason: z.enum(RELEASE_REASONS).nullable(),
  release_message: z.string().exactOptional().describe('message of the release'),
  result_accepted: z.boolean(),
  work_product_ref: z.string().nullable(),
  /** Set if a person adopted a parked result of an older generation, or a convergence that an imported log reports. */
  adopted_from: z
    .union([
      z.object({ result_id: z.string(), generation: count, agent_id: z.string(), session_id: z.string() }),
      z.object({
        imported: z.literal(true),
        event_id: z.string(),
        position: count,
        agent_id: z.string().exactOptional(),
        source: z.string().exactOptional(),
      }),
    ])
    .nullable(),
});
const lineage = namedObject('Lineage', {
  task_id: z.string(),
  generations: z.array(claimHistory),
  rejected: z.array(taskResult),
  refused_count: count.describe(
    'number of refused claims and submissions, including those that are counted but not recorded; may be too low after a restart',
  ),
  reviews: z.array(reviewEntry),
  omitted: count.exactOptional().describe('number of older events left out, if any'),
});
const explanation = namedObject('Explanation', {
  task_id: z.string(),
  claimable: z.boolean(),
  is_held_by_you: z.boolean().describe('whether the session in the query holds the work'),
  why: z.array(z.object({ rule: z.enum(['GRANTED', ...CLAIM_REFUSALS]), says: z.string() })),
  next: z.string(),
  /** The evidence policy, for an edge in a configured project. */
  evidence: evidencePolicyStatus
    .extend({
      candidate: z
        .object({ generation: count, candidate_sha256: z.string() })
        .describe('the last candidate that was proposed to runners')
        .nullable(),
      outcomes: z
        .array(checkOutcomeSchema)
        .describe('outcomes of its checks that enrolled runners have signed and that count now'),
      passed: z
        .array(z.object({ name: z.string(), runner_id: z.string() }))
        .describe(
          'deterministic checks of the last candidate that have passed by evidence, and by which runner',
        ),
      missing: z
        .array(z.object({ name: z.string(), says: z.string() }))
        .describe('deterministic checks of the last candidate that have not passed by evidence, and why'),
    })
    .exactOptional(),
});
const blobStored = z.object({ sha256: z.string(), size_bytes: count });

export type TaskStateResult = ReplyOf<typeof taskStateResult>;
export type TaskState = ReplyOf<typeof taskState>;
export type OperatorResult = ReplyOf<typeof operatorResult>;
export type TaskResult = ReplyOf<typeof taskResult>;
export type ClaimHistory = ReplyOf<typeof claimHistory>;
export type Lineage = ReplyOf<typeof lineage>;
export type Explanation = ReplyOf<typeof explanation>;

// Operations

const TASK_PATH = `${PROJECT_PATH}/tasks/{subject}` as const;
const BLOB_PATH = `${PROJECT_PATH}/blobs/{sha256}` as const;

const operatorOperation = <Verb extends OperatorVerb>(verb: Verb, summary: string) =>
  ({
    ...commandOperation(`${TASK_PATH}/${verb}`, summary, operatorBodies[verb], operatorResult),
    action: 'operate',
  }) as const;

export const taskOperations = {
  list_tasks: readOperation(
    `${PROJECT_PATH}/tasks`,
    'List the tasks of the plan with their state, now or at a log position, paginated',
    {
      query: taskFilter,
      reply: z.object({ tasks: z.array(taskState), next: nextPage, position: count }),
    },
  ),
  batch_get_states: {
    method: 'POST',
    path: `${PROJECT_PATH}/tasks/batch_get`,
    action: 'read',
    summary: 'Get the state of several tasks',
    body: jsonBody(taskIdsBody),
    reply: z.object({ tasks: z.array(z.union([taskState, problemDocument])), next: z.null() }),
  },
  get_task_state: readOperation(TASK_PATH, 'Get the state of a task, now or at a log position', {
    query: atQuery,
    reply: taskState,
  }),
  note: commandOperation(
    `${TASK_PATH}/notes`,
    'Leave a note for the next holder of a task',
    noteBody.partial({ task_id: true }),
    noteResult,
  ),
  get_claim_history: readOperation(
    `${TASK_PATH}/history`,
    'Get the generations and refused results of a task, the latest of each',
    { query: latestQuery.extend(atField), reply: lineage },
  ),
  list_results: readOperation(
    `${TASK_PATH}/results`,
    'List the results of a task: accepted, refused and parked, paginated',
    { query: pageQuery.extend(atField), reply: z.object({ results: z.array(taskResult), next: nextPage }) },
  ),
  get_result: readOperation(`${TASK_PATH}/results/{result_id}`, 'Get a result with its data', {
    query: atQuery,
    reply: taskResult,
  }),
  explain: readOperation(`${TASK_PATH}/explain`, 'Explain why a task can or cannot be claimed now', {
    query: explainQuery,
    reply: explanation,
  }),
  force_release: operatorOperation('force_release', 'Release a claim regardless of its holder'),
  reassign: operatorOperation('reassign', 'Reassign a task to another agent'),
  reset: operatorOperation('reset', 'Reopen a completed task'),
  hold: operatorOperation('hold', 'Hold a task so that it cannot be claimed'),
  unhold: operatorOperation('unhold', 'Remove the hold of a task'),
  // Reviewers, too, may decide which result counts.
  adopt: { ...operatorOperation('adopt', 'Accept a refused result that was parked'), action: 'review' },
  put_blob: {
    method: 'PUT',
    path: BLOB_PATH,
    action: 'upload',
    summary: 'Upload the bytes of a large result before submitting it',
    body: { kind: 'bytes' },
    reply: blobStored,
  },
  get_blob: readOperation(BLOB_PATH, 'Download the bytes of a large result', {
    reply: { content_type: 'application/octet-stream' },
  }),
} as const satisfies ApiOperations;
