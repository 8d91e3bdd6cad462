import { z } from 'zod';
import type { OperatorResult } from '../../coordinator/operations/operate.js';
import type { Explanation } from '../../coordinator/queries/explain.js';
import type * as wire from '../../coordinator/wire/index.js';
import { CLAIM_STATES, RELEASE_REASONS, REVIEW_DECISIONS } from '../../core/claims/head.js';
import { CHECK_TYPES } from '../../core/methodology/definition/methodology.js';
import {
  type ClaimHistory,
  type Lineage,
  READINESS,
  type TaskClaim,
  type TaskResult,
  type TaskState,
} from '../../core/views/index.js';
import { count, jsonRecord, registerSchema, time } from './common.js';

/** Replies about work, as in the wire contract. */

const taskFields = {
  task_id: z.string(),
  track: z.string().nullable(),
  sequence: z.number().int().nullable(),
};
const projectFields = { tenant_id: z.string(), project_id: z.string() };
const claimFields = {
  ...projectFields,
  ...taskFields,
  agent_id: z.string(),
  session_id: z.string(),
  generation: count,
  state: z.enum(CLAIM_STATES),
  claimed_at: time,
  lease_duration_seconds: z.number().nullable(),
  expires_at: time.nullable(),
  work_product_ref: z.string().nullable(),
  metadata: jsonRecord,
};
const next = z.string().describe('what to do now').exactOptional();

export const grantedClaim = registerSchema<wire.GrantedClaim>()(
  'GrantedClaim',
  z.object({
    id: z.string().describe('the claim id, told to the holder alone').exactOptional(),
    ...claimFields,
  }),
);
export const taskClaim = registerSchema<TaskClaim>()('TaskClaim', z.object(claimFields));

export const briefing = registerSchema<wire.Briefing>()(
  'Briefing',
  z.object({
    description: z.string(),
    instructions: z.string().nullable(),
    dependencies: z.array(z.object({ task_id: z.string(), work_product_ref: z.string().nullable() })),
    notes: z.array(z.object({ at: time, agent_id: z.string(), generation: count, text: z.string() })),
    predecessors: z.array(
      z.object({
        generation: count,
        agent_id: z.string(),
        outcome: z.enum([...RELEASE_REASONS, ...CLAIM_STATES]),
        parked: z.string().nullable(),
      }),
    ),
    handle: z.object({
      task_id: z.string(),
      generation: count,
      claim_id: z.string(),
      session_id: z.string(),
    }),
  }),
);

export const claimResult = registerSchema<wire.ClaimResult>()(
  'ClaimResult',
  z.object({
    success: z.boolean(),
    reason: z
      .string()
      .describe(
        'GRANTED, DENIED_ACTIVE_CLAIM, DENIED_COMPLETED, DENIED_DEPENDENCIES, DENIED_HELD, DENIED_BACKOFF, DENIED_LIMIT, DENIED_SINGLE_AGENT, DENIED_PARALLEL, DENIED_BATCH, SESSION_CLOSED, UNKNOWN_TASK, NOTHING_READY',
      ),
    claim: grantedClaim.nullable(),
    current_holder: z.string().nullable(),
    next,
    stale: z.boolean().exactOptional(),
    expires_at: time.nullable().exactOptional(),
    waiting_for: z.array(z.string()).exactOptional(),
    hold_reason: z.string().exactOptional(),
    retry_at: time.exactOptional(),
    limit: z.string().exactOptional(),
    shared_modules: z.array(z.string()).exactOptional(),
    holders: z
      .array(z.object({ task_id: z.string(), agent_id: z.string(), shared_modules: z.array(z.string()) }))
      .exactOptional(),
    warnings: z.array(z.string()).exactOptional(),
    briefing: briefing.exactOptional(),
  }),
);
export const renewalResult = registerSchema<wire.RenewalResult>()(
  'RenewalResult',
  z.object({
    success: z.boolean(),
    reason: z.string().describe('RENEWED, GENERATION_MISMATCH, SESSION_MISMATCH, NO_CLAIM, ALREADY_EXPIRED'),
    new_expiry: time.nullable(),
    next,
  }),
);
/** Reply to a holder's command without further data: done, or why the handle is invalid. */
const holderResult = (name: string, done: string) =>
  registerSchema<wire.ReleaseResult>()(
    name,
    z.object({
      success: z.boolean(),
      reason: z.string().describe(`${done}, GENERATION_MISMATCH, SESSION_MISMATCH, NO_CLAIM`),
      next,
    }),
  );
export const releaseResult = holderResult('ReleaseResult', 'RELEASED');
export const noteResult = holderResult('NoteResult', 'NOTED');
export const appendResult = registerSchema<wire.AppendResult>()(
  'AppendResult',
  z.object({
    success: z.boolean(),
    reason: z.string().describe('APPENDED, UNKNOWN_TASK, GENERATION_MISMATCH, SESSION_MISMATCH, NO_CLAIM'),
    event_id: z.string().nullable(),
    next,
  }),
);
export const submissionResult = registerSchema<wire.SubmissionResult>()(
  'SubmissionResult',
  z.object({
    accepted: z.boolean(),
    reason: z
      .string()
      .describe(
        'ACCEPTED, STALE_GENERATION, FUTURE_GENERATION, SESSION_MISMATCH, NO_CLAIM, TASK_ALREADY_COMPLETED, LEASE_EXPIRED, ESCALATED, DEPENDENCY_CHANGED, OUTSIDE_AUTHORITY, NOT_CONVERGED, RESULT_TOO_LARGE',
      ),
    current_generation: count,
    work_lost: z.boolean(),
    late: z.boolean(),
    work_product_ref: z.string().nullable(),
    parked: z.string().describe('the id under which refused work is kept').nullable(),
    failing: z
      .array(z.object({ name: z.string(), says: z.string() }))
      .describe('required checks that are not passed, with NOT_CONVERGED')
      .exactOptional(),
    next,
  }),
);
export const gateResult = registerSchema<wire.GateResult>()(
  'GateResult',
  z.object({
    success: z.boolean(),
    reason: z.string(),
    generation: count,
    until: time.nullable(),
    next,
  }),
);

const stateFields = {
  task_id: z.string(),
  phase: z.enum(['OPEN', 'COMPLETED']),
  readiness: z.enum(READINESS),
  generation: count,
  claim: taskClaim.nullable(),
  result: z
    .object({
      result_id: z.string(),
      generation: count,
      agent_id: z.string(),
      session_id: z.string(),
      sha256: z.string(),
      work_product_ref: z.string(),
      submitted_at: time,
    })
    .nullable(),
  waiting_for: z.array(z.string()),
  parked: count.describe('how many refused results are kept'),
  title: z.string().describe('of the feature, where it is an edge').exactOptional(),
  checks: z
    .array(
      z.object({
        name: z.string(),
        type: z.enum(CHECK_TYPES),
        criterion: z.string(),
        required: z.boolean(),
        command: z.string().exactOptional(),
        pass_criterion: z.string().exactOptional(),
        skipped: z.string().nullable().describe('why nobody can run it'),
      }),
    )
    .describe('what the result of an edge is asked to pass')
    .exactOptional(),
};
export const taskState = registerSchema<TaskState>()('TaskState', z.object(stateFields));
export const operatorResult = registerSchema<OperatorResult>()(
  'OperatorResult',
  z.object({ ...stateFields, success: z.boolean(), reason: z.string(), next }),
);

export const taskResult = registerSchema<TaskResult>()(
  'TaskResult',
  z.object({
    ...taskFields,
    ...projectFields,
    id: z.string(),
    generation: count,
    session_id: z.string(),
    agent_id: z.string(),
    work_product_ref: z.string(),
    result_data: z.unknown(),
    blob_sha256: z.string().nullable(),
    submitted_at: time,
    accepted: z.boolean(),
    rejection_reason: z.string().nullable(),
    current_generation: count.nullable(),
    parked: z.boolean(),
  }),
);
export const claimHistory = registerSchema<ClaimHistory>()(
  'ClaimHistory',
  z.object({
    ...taskFields,
    ...projectFields,
    id: z.string(),
    generation: count,
    session_id: z.string(),
    agent_id: z.string(),
    user_id: z.string().nullable(),
    acquired_at: time,
    released_at: time.nullable(),
    release_reason: z.enum(RELEASE_REASONS).nullable(),
    release_message: z.string().exactOptional().describe('what was said when it was given back'),
    result_accepted: z.boolean(),
    work_product_ref: z.string().nullable(),
    adopted_from: z
      .object({ result_id: z.string(), generation: count, agent_id: z.string(), session_id: z.string() })
      .nullable(),
  }),
);
export const lineage = registerSchema<Lineage>()(
  'Lineage',
  z.object({
    task_id: z.string(),
    generations: z.array(claimHistory),
    rejected: z.array(taskResult),
    reviews: z.array(
      z.object({
        generation: count,
        iteration: count,
        decision: z.enum(REVIEW_DECISIONS),
        reviewer: z.string(),
        comment: z.string().nullable(),
        at: time,
      }),
    ),
    omitted: count.exactOptional().describe('how many older events are left out, where some are'),
  }),
);
export const explanation = registerSchema<Explanation>()(
  'Explanation',
  z.object({
    task_id: z.string(),
    claimable: z.boolean(),
    why: z.array(z.object({ rule: z.string(), says: z.string() })),
    next: z.string(),
  }),
);
