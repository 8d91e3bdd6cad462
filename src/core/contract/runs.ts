import { z } from 'zod';
import { costSchema } from '../engine/check-outcome.js';
import { blobReference } from '../engine/run-data.js';
import { agentRoleSchema, requestIdSchema } from '../ids.js';
import { effectiveCheck } from './checks.js';
import { CANCEL_REFUSALS, ITERATE_REFUSALS } from './codes.js';
import { methodologyView } from './methodology.js';
import { featureId } from './methodology-fields.js';
import { type ApiOperations, jsonBody, withProject } from './operation.js';
import {
  boundedText,
  count,
  jsonRecord,
  namedObject,
  namedResult,
  nextPage,
  nextStep,
  pageQuery,
  positionFields,
  type ReplyOf,
  time,
} from './schema.js';
import { RUN_STATUSES } from './values.js';

/** Runs of the iterate engine: requested here, executed by `gen iterate`, recorded in the log. */

const runId = z.uuid();

/**
 * `REQUESTED`: no executor has started the run yet. `WAITING`: the run waits for a person, or, once `decision` is set, for an
 * executor to continue it.
 */
const RUN_STATES = ['REQUESTED', 'RUNNING', 'WAITING', ...RUN_STATUSES] as const;

export const iterateBody = z.strictObject({
  feature_id: featureId,
  edge: boundedText(128),
  agent_role: agentRoleSchema.optional(),
  retry_of: runId.optional().describe('a run that ended without convergence; the new run reads its findings'),
  dry_run: z
    .boolean()
    .optional()
    .describe('return the checks and the state machine of the run, and change nothing'),
  request_id: requestIdSchema.optional(),
});
const runsQuery = z.strictObject({
  ...pageQuery.shape,
  feature: featureId.exactOptional(),
  status: z.enum(RUN_STATES).exactOptional(),
});
export const cancelRunBody = z.strictObject({
  comment: boundedText(1000).optional(),
  request_id: requestIdSchema.optional(),
});

const runShape = {
  run_id: runId,
  task_id: z.string(),
  status: z.enum(RUN_STATES),
  reason: z.string().nullable().describe('why the run was escalated or has failed'),
  says: z.string(),
  requested_at: time.nullable().describe('null if the executor started it without a request'),
  requested_by: z.string().nullable(),
  retry_of: runId.nullable(),
  started_at: time.nullable(),
  ended_at: time.nullable(),
  generation: count.describe('generation of the executor that wrote last; 0 before any executor has written'),
  agent_id: z.string().nullable().describe('the executor that wrote last'),
  workflow_type: z.enum(['STANDARD', 'EXPRESS']).nullable(),
  iterations: count,
  /** The step that was started or ended last. */
  step: z.string().nullable(),
  spent: costSchema,
  decision: z
    .string()
    .nullable()
    .describe('decision of the review that the run waits for or has ended with; null before the decision'),
  decided_by: z.string().nullable().optional().describe('the reviewer of that decision'),
  decided_at: time.nullable().optional(),
  edge_converged_at: time
    .nullable()
    .optional()
    .describe('when the edge converged with the candidate of an escalated run, after its approval'),
};
const runSummary = namedObject('RunSummary', runShape);
const runStep = namedObject('RunStep', {
  step: z.string(),
  iteration: count,
  attempts: count,
  status: z.enum(['RUNNING', 'COMPLETED', 'FAILED', 'WAITING']),
  input_sha256: z.string(),
  output: jsonRecord.nullable(),
  output_ref: blobReference.nullable(),
  error: z.string().nullable(),
  cause: z.string().nullable(),
  started_at: time,
  ended_at: time.nullable(),
  duration_ms: z.number().nullable(),
  cost: costSchema,
});
const runDetails = namedObject('Run', {
  ...runShape,
  machine: blobReference.nullable(),
  machine_sha256: z.string().nullable(),
  config_sha256: z.string().nullable(),
  steps: z.array(runStep),
});

const spentQuery = z.strictObject({ feature: featureId.exactOptional() });
/** What all runs have spent, including runs that have not ended. */
const spentSums = namedObject('SpentSums', {
  features: z
    .record(z.string(), costSchema)
    .describe('cost of the requested feature; if none is requested, of the first 1,000 features'),
  project: costSchema,
  tenant: costSchema.describe(
    'sum over all projects of the tenant; the sums of other projects may be up to 10 seconds old',
  ),
});

const runsReply = z.object({
  runs: z.array(runSummary).describe('newest first'),
  next: nextPage,
  ...positionFields,
});
const runReply = z.object({
  run: runDetails,
  omitted_steps: count.describe(
    'number of the oldest steps that are left out because all steps together are too large',
  ),
  ...positionFields,
});
const spentReply = z.object({ spent: spentSums, ...positionFields });

const iterateResult = namedResult('IterateResult', [
  z.object({
    success: z.literal(true),
    /** `UNDER_WAY`: the edge has a run that has not ended, so no other run is requested. */
    reason: z.enum(['REQUESTED', 'UNDER_WAY']),
    run: runSummary,
    next: nextStep,
  }),
  z.object({
    success: z.literal(true),
    reason: z.literal('DRY_RUN'),
    checks: z.array(effectiveCheck),
    machine: jsonRecord,
    workflow_type: z.enum(['STANDARD', 'EXPRESS']),
    workflow_reason: z.string(),
  }),
  z.object({ success: z.literal(false), reason: z.enum(ITERATE_REFUSALS), next: nextStep }),
]);
const cancelRunResult = namedResult('CancelRunResult', [
  z.object({ success: z.literal(true), reason: z.literal('CANCELLED'), run: runSummary }),
  z.object({ success: z.literal(false), reason: z.enum(CANCEL_REFUSALS), next: nextStep }),
]);

export type RunsQuery = z.output<typeof runsQuery>;
export type SpentQuery = z.output<typeof spentQuery>;
export type RunSummary = ReplyOf<typeof runSummary>;
export type RunDetails = ReplyOf<typeof runDetails>;
export type SpentReply = ReplyOf<typeof spentReply>;
export type RunReply = ReplyOf<typeof runReply>;
export type RunsReply = ReplyOf<typeof runsReply>;
export type IterateResult = ReplyOf<typeof iterateResult>;
export type CancelRunResult = ReplyOf<typeof cancelRunResult>;

/** A command whose body names the project. */
const command = { method: 'POST', tenant: 'own', isRefusable: true } as const;

export const runOperations = {
  iterate: {
    ...command,
    path: '/api/iterate',
    action: 'work',
    summary: 'Request a run of an edge; gen iterate executes it. With dry_run, only compile it',
    body: jsonBody(withProject(iterateBody)),
    reply: iterateResult,
  },
  list_runs: methodologyView('/api/runs', 'List the runs of the project, newest first', runsQuery, runsReply),
  runs_spent: methodologyView(
    '/api/spent',
    'Get what runs have spent, by feature, in the project and in the tenant',
    spentQuery,
    spentReply,
  ),
  get_run: methodologyView('/api/runs/{run_id}', 'Get a run with its steps', z.strictObject({}), runReply),
  cancel_run: {
    ...command,
    path: '/api/runs/{run_id}/cancel',
    action: 'operate',
    summary: 'Cancel a run that has not ended; its executor loses the claim of the edge',
    body: jsonBody(withProject(cancelRunBody)),
    reply: cancelRunResult,
  },
} as const satisfies ApiOperations;
