import { z } from 'zod';
import { checkOutcomeSchema, costSchema } from './check-outcome.js';

/**
 * The data that the states of a run pass on, as JSON. It contains references to blobs instead of their content, because a
 * state passes on at most 256 KiB. A task gets the whole data, or for a check or a review the fields of the iteration so far;
 * the compiled machine says into which field its result goes.
 */

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);

/** Where a blob is stored. For blobs in a folder or in the store `bucket` is empty, and `version` is the digest of the blob. */
export const blobReference = z.strictObject({
  bucket: z.string().max(255),
  key: z.string().min(1).max(1024),
  version: z.string().max(1024),
});
export type BlobReference = z.output<typeof blobReference>;

/** What a run works on. */
const runInput = z.strictObject({
  run_id: z.uuid(),
  tenant_id: z.string(),
  project_id: z.string(),
  feature_id: z.string(),
  edge: z.string(),
  /** For a retry: the findings of the last iteration of the retried run. The first iteration reads them. */
  retried_findings: blobReference.exactOptional(),
});
const claimOfRun = z.strictObject({
  generation: z.int().min(1),
  claim_id: z.string(),
  session_id: z.string(),
});
/** The edge plan at the start of the run; it stays fixed for the whole run. */
const loadedConfig = z.strictObject({ plan: blobReference, config_sha256: sha256 });
const loadedContext = z.strictObject({
  manifest: blobReference,
  context_hash: z.string(),
  /** Whether large documents are searched for relevant passages instead of being passed on whole. */
  is_searched: z.boolean(),
});
const candidateSchema = z.strictObject({
  /** The manifest of the files, and its digest, which checks, reviews and the result name. */
  manifest: blobReference,
  sha256,
  files: count,
  /** The digest of the prompt, which is stored as a blob. */
  prompt_sha256: sha256,
  /** The session that made the candidate; an evaluator must use a different one. */
  constructed_by: z.string().max(256),
  says: z.string().max(2000),
  cost: costSchema,
});
const humanDecision = z.strictObject({
  decision: z.enum(['APPROVED', 'REJECTED', 'CHANGES_REQUESTED', 'NO_ANSWER']),
  reviewer: z.string(),
  comment: z.string().max(4000),
});
/** A check's outcome, with `blocks`: whether it prevents the next tier, which a choice state cannot compute itself. */
const tierOutcome = checkOutcomeSchema.extend({
  blocks: z.boolean(),
  /** For a large outcome: the digest of the blob with the whole outcome. */
  outcome_sha256: sha256.exactOptional(),
});

const ITERATION_OUTCOMES = ['CONVERGED', 'LOOP', 'ESCALATE'] as const;
export const ESCALATION_REASONS = [
  'NOT_AUTHORISED',
  'REJECTED',
  'NO_ANSWER',
  'BUDGET_SPENT',
  'MAX_ITERATIONS',
  'STUCK',
  'BASE_DIFFERS',
  'STEP_FAILED',
] as const;
const verdictSchema = z.strictObject({
  outcome: z.enum(ITERATION_OUTCOMES),
  reason: z.enum(ESCALATION_REASONS).nullable(),
  says: z.string().max(2000),
  delta: count,
  next_iteration: z.int().min(1),
  /** What the next iteration reads: the failing checks and the person's comment. */
  findings: blobReference.nullable(),
});
/** AWS Lambda reports the cause of an error as JSON with these fields, among others. */
const lambdaCause = z.object({ errorMessage: z.string() });

/** The message of an error, in the same form for a function on AWS and for a handler in this process. */
function causeText(cause: string): string {
  try {
    const parsed = lambdaCause.safeParse(JSON.parse(cause));
    return parsed.success ? parsed.data.errorMessage : cause;
  } catch {
    return cause;
  }
}
const failureOfStep = z.object({ Error: z.string(), Cause: z.string().transform(causeText).optional() });

export const runDataSchema = z.object({
  run: runInput,
  iteration: z.int().min(1),
  claim: claimOfRun.optional(),
  config: loadedConfig.optional(),
  context: loadedContext.optional(),
  candidate: candidateSchema.optional(),
  deterministic: z.array(tierOutcome).optional(),
  agent: z.array(tierOutcome).optional(),
  human: humanDecision.optional(),
  verdict: verdictSchema.optional(),
  failure: failureOfStep.optional(),
});
export type RunData = z.output<typeof runDataSchema>;
export type RunInput = z.output<typeof runInput>;
export type Candidate = z.output<typeof candidateSchema>;
export type IterationVerdict = z.output<typeof verdictSchema>;
export type HumanDecision = z.output<typeof humanDecision>;

/** The result of each task. Its key is the name of the function on AWS, without the prefix. */
export const handlerResults = {
  claim_edge: claimOfRun,
  load_config: loadedConfig,
  load_context: loadedContext,
  construct_candidate: candidateSchema,
  run_check: tierOutcome,
  judge_check: tierOutcome,
  request_review: humanDecision,
  judge_iteration: verdictSchema,
  promote: z.strictObject({ result_id: z.string() }),
  escalate: z.strictObject({ reason: z.enum(ESCALATION_REASONS) }),
} as const;
export type StepHandlerName = keyof typeof handlerResults;
export type StepResult<Name extends StepHandlerName> = z.output<(typeof handlerResults)[Name]>;

/** Names of errors that a handler may raise; a machine retries or catches them by these names. */
export const ENGINE_ERRORS = {
  /** The server of a model limits the rate of requests. */
  throttled: 'Engine.Throttled',
  overloaded: 'Engine.Overloaded',
  /** The store, the coordinator or another service does not answer. */
  unavailable: 'Engine.Unavailable',
  /** This execution no longer has the claim of the edge, for example because another executor has it: it ends. */
  claimLost: 'Engine.ClaimLost',
  configChanged: 'Engine.ConfigChanged',
  /**
   * The candidate has passed its checks, but its submission was escalated to a person: the agent lacks authority, or a
   * candidate of this claim is under review or was not approved.
   */
  notAuthorised: 'Engine.NotAuthorised',
  /** A budget of `engine.yml` is spent, or the quota or credit at the provider of a model is used up. */
  budgetSpent: 'Engine.BudgetSpent',
  /** A model or an agent has answered in another form than the prompt requires. */
  malformed: 'Engine.Malformed',
  timeout: 'Engine.Timeout',
  /** No runner has verified the checks in time, or none is enrolled. A new candidate would not help: a person has to act. */
  noEvidence: 'Engine.NoEvidence',
  /** The runner's base has other files than the candidate was built on. A new candidate would not help: a person has to act. */
  baseDiffers: 'Engine.BaseDiffers',
  failed: 'Engine.Failed',
} as const;
export type EngineErrorName = (typeof ENGINE_ERRORS)[keyof typeof ENGINE_ERRORS];
