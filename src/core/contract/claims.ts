import { z } from 'zod';
import { CLAIM_STATES, RELEASE_REASONS, REVIEW_DECISIONS } from '../claims/head.js';
import { isoTimestamp } from '../events/fields.js';
import { agentIdSchema, requestIdSchema, sessionIdSchema } from '../ids.js';
import { checkRunFields } from '../methodology/definition/engine-settings.js';
import {
  GATE_REFUSALS,
  GATE_SUCCESSES,
  HANDLE_REFUSALS,
  RENEWAL_REFUSALS,
  SUBMISSION_REFUSALS,
} from './codes.js';
import { type ApiOperations, command, json, PROJECT_PATH } from './operation.js';
import { problemDocument } from './problem.js';
import {
  boundedText,
  claimId,
  count,
  generation,
  iteration,
  jsonRecord,
  limitFields,
  mutationFields,
  named,
  namedObject,
  namedResult,
  next,
  plainObject,
  plainValue,
  type ReplyOf,
  sha256,
  subject,
  time,
  withinBytes,
} from './schema.js';
import { CHECK_RESULTS, CHECK_TYPES, EVIDENCE_POLICIES, WORK_KINDS } from './values.js';

/** Claiming work, keeping it and submitting its result. Bodies are strict and bounded. */

export const METADATA_BYTES_MAX = 4096;
const CHECK_REPORTS_BYTES_MAX = 64 * 1024;
export const BATCH_ITEMS_MAX = 1000;
export const ATOMIC_ITEMS_MAX = 20;
export const LEASE_SECONDS_MAX = 366 * 24 * 3600;

/** What a client adds to a claim or a result; the rules do not read it. */
const metadata = plainObject.refine(...withinBytes(METADATA_BYTES_MAX));

export const handleFields = { task_id: subject, session_id: sessionIdSchema, claim_id: claimId.optional() };
export const leaseFields = {
  lease_duration_seconds: z.number().int().min(1).max(LEASE_SECONDS_MAX).optional(),
};

// Requests

/**
 * The event of an offline log that a pushed command repeats. Only ids as a coordinator assigns them, in one spelling:
 * version 5 is reserved for ids that derive from content.
 */
const offlineEventId = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, {
    error: 'expected a UUID of version 7 in lower case',
  });
const offlineEvent = z.strictObject({
  event_id: offlineEventId,
  occurred_at: isoTimestamp.describe('when it was decided; a future time becomes now'),
});
const offlineFields = { offline: offlineEvent.optional() };

/** If the session holds the work already, its claim comes back. Only to the credential that took it. */
const resume = z.boolean().optional();

export const claimBody = z.strictObject({
  task_id: subject.optional(),
  feature_id: boundedText(100).optional(),
  edge: boundedText(100).optional(),
  agent_id: agentIdSchema,
  session_id: sessionIdSchema,
  ...leaseFields,
  agent_role: boundedText(64).optional(),
  metadata: metadata.optional(),
  resume,
  /** Include the briefing, as `next` does. Off by default, because it costs a read. */
  with_briefing: z.boolean().optional(),
  ...offlineFields,
  ...mutationFields,
});
export const batchClaimBody = z.strictObject({
  claims: z
    .array(claimBody.omit({ with_briefing: true, offline: true }))
    .min(1)
    .max(BATCH_ITEMS_MAX),
  mode: z.enum(['partial', 'all_or_nothing']).default('partial'),
  ...mutationFields,
  // Leaves space for the index appended to form the request id of each claim.
  request_id: requestIdSchema.max(120).optional(),
});
/** A list of bodies, each validated on its own: an invalid one is refused alone. */
export const itemsBody = z.strictObject({
  items: z.array(z.unknown()).max(BATCH_ITEMS_MAX),
  ...mutationFields,
});
/** The holder's command on its claim. */
export const holderBody = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject({ ...handleFields, expected_generation: generation, ...shape, ...mutationFields });
export const renewBody = holderBody(leaseFields);
export const releaseBody = holderBody({
  reason: z.enum(['VOLUNTARY', 'ERROR']).default('VOLUNTARY'),
  message: boundedText(2000).optional(),
  ...offlineFields,
});
const checkCount = z.number().int().min(0).max(100_000);
/** Results of an edge's checks. Each is judged by its detail; the counts are for readers and must agree with the details. */
const checkReports = z
  .strictObject({
    passed: checkCount,
    failed: checkCount,
    skipped: checkCount,
    total: checkCount,
    details: z
      .array(
        z.strictObject({
          name: boundedText(256),
          type: boundedText(64).optional(),
          result: z.enum(CHECK_RESULTS),
          required: z.boolean().optional(),
          says: z.string().max(2000).optional(),
        }),
      )
      .max(500),
  })
  .refine(...withinBytes(CHECK_REPORTS_BYTES_MAX))
  .refine(({ passed, failed, total, details }) => {
    const notPassed = details.filter(({ result }) => result !== 'pass').length;
    const knownFailed = details.filter(({ result }) => result === 'fail').length;
    return details.length <= total && passed <= total - notPassed && failed >= knownFailed;
  }, 'expected counts that agree with the details');
export const submitBody = z
  .strictObject({
    ...handleFields,
    generation,
    result_data: plainValue.optional(),
    blob_sha256: sha256.optional(),
    metadata: metadata.optional(),
    iteration: iteration.optional(),
    evaluators: checkReports.optional(),
    convergence_type: boundedText(256).optional(),
    context_hash: boundedText(256).optional(),
    ...offlineFields,
    ...mutationFields,
  })
  .refine((body) => (body.result_data === undefined) !== (body.blob_sha256 === undefined), {
    path: ['result_data'],
    message: 'expected either result_data or blob_sha256',
  });
export const suspendBody = holderBody({
  iteration: iteration.optional(),
  candidate_sha256: sha256.optional(),
  ...offlineFields,
});
export const resumeBody = holderBody(offlineFields);
export const reviewBody = z.strictObject({
  task_id: subject,
  generation,
  iteration,
  candidate_sha256: sha256,
  decision: z.enum(REVIEW_DECISIONS),
  comment: boundedText(4000).optional(),
  offline: offlineEvent
    .extend({
      reviewer: agentIdSchema.describe('who decided it, according to the sender, who is recorded too'),
      /** The event of the result that an approval accepted. */
      accepted_event_id: offlineEventId.optional(),
    })
    .refine(({ event_id, accepted_event_id }) => event_id !== accepted_event_id, {
      path: ['accepted_event_id'],
      message: 'expected another id than event_id',
    })
    .optional(),
  ...mutationFields,
});
export const nextBody = z.strictObject({
  agent_id: agentIdSchema,
  session_id: sessionIdSchema,
  track: z
    .string()
    .regex(/^[A-Z]{1,8}$/)
    .optional(),
  agent_role: boundedText(64).optional(),
  ...leaseFields,
  kinds: z.array(z.enum(WORK_KINDS)).min(1).max(WORK_KINDS.length).optional(),
  resume,
  wait_seconds: z.number().min(0).max(30).default(0),
  ...mutationFields,
});

export type ClaimBody = z.infer<typeof claimBody>;
export type RenewBody = z.infer<typeof renewBody>;
export type ReleaseBody = z.input<typeof releaseBody>;
export type SubmitBody = z.infer<typeof submitBody>;
export type SuspendBody = z.infer<typeof suspendBody>;
export type ResumeBody = z.infer<typeof resumeBody>;
export type ReviewBody = z.infer<typeof reviewBody>;
export type NextBody = z.infer<typeof nextBody>;

// Replies

/** A required check that has not passed, and why. */
const failingCheck = z.object({ name: z.string(), says: z.string() });

/** A check for one feature on one edge, with variables replaced and `required` resolved. */
export const effectiveCheck = z.object({
  name: z.string(),
  type: z.enum(CHECK_TYPES),
  criterion: z.string(),
  required: z.boolean(),
  command: z.string().exactOptional(),
  pass_criterion: z.string().exactOptional(),
  ...checkRunFields,
  /** A required check that is skipped has not passed. */
  skipped: z.string().nullable().describe('why the check cannot be run'),
});

/** Which results of deterministic checks count in this project. */
export const evidencePolicyStatus = named(
  'EvidencePolicyStatus',
  z.object({
    policy: z.enum(EVIDENCE_POLICIES),
    runners: count.describe('enrolled runners'),
    says: z.string(),
    is_blocked: z
      .boolean()
      .describe('no runner is enrolled, so no edge with a deterministic check converges'),
  }),
);

/** A human review of a candidate. */
export const reviewEntry = z.object({
  generation: count,
  iteration: count,
  decision: z.enum(REVIEW_DECISIONS),
  reviewer: z.string(),
  pushed_by: z
    .string()
    .exactOptional()
    .describe('the credential that pushed a review decided offline; the reviewer is what it says'),
  comment: z.string().nullable(),
  at: time,
});

export const taskFields = {
  task_id: z.string(),
  track: z.string().nullable(),
  sequence: z.number().int().nullable(),
};
export const projectFields = { tenant_id: z.string(), project_id: z.string() };
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

/** The last claim of a subject, without its claim id: only the holder gets that. */
export const taskClaim = named('TaskClaim', z.object(claimFields));
/** A claim as its holder sees it. */
export const grantedClaim = namedObject('GrantedClaim', {
  id: z.string().describe('claim id, returned only to the holder'),
  ...claimFields,
});
const note = z.object({ at: time, agent_id: z.string(), generation: count, text: z.string() });
export const briefing = namedObject('Briefing', {
  description: z.string(),
  instructions: z.string().nullable(),
  dependencies: z.array(
    z.object({
      task_id: z.string(),
      work_product_ref: z.string().nullable(),
      result: z.unknown().optional().describe('the accepted result, if it is small'),
      read: z.string().describe('the call that reads the result, if it is larger').exactOptional(),
      notes: z.array(note).exactOptional(),
    }),
  ),
  notes: z.array(note),
  predecessors: z.array(
    z.object({
      generation: count,
      agent_id: z.string(),
      outcome: z.enum([...RELEASE_REASONS, ...CLAIM_STATES]),
      parked: z.string().nullable(),
      message: z.string().describe('why the attempt failed').exactOptional(),
    }),
  ),
  checks: z.array(effectiveCheck).describe('checks that the result of an edge must pass').exactOptional(),
  failed: z.array(failingCheck).describe('checks that the last iteration failed').exactOptional(),
  review: reviewEntry.describe('the last review, if it did not approve').exactOptional(),
  handle: z.object({
    task_id: z.string(),
    generation: count,
    claim_id: z.string(),
    session_id: z.string(),
  }),
});

const denied = { success: z.literal(false), claim: z.null(), current_holder: z.null(), next };
/** An agent that works on the shared modules. */
const sharedHolder = z.object({
  task_id: z.string(),
  agent_id: z.string(),
  shared_modules: z.array(z.string()),
});
export const claimResult = namedResult('ClaimResult', [
  z.object({
    success: z.literal(true),
    reason: z.literal('GRANTED'),
    claim: grantedClaim,
    current_holder: z.null(),
    resumed: z.literal(true).describe('the session held it already').exactOptional(),
    warnings: z.array(z.string()).exactOptional(),
    briefing: briefing.exactOptional(),
  }),
  z.object({
    reason: z.literal('DENIED_ACTIVE_CLAIM'),
    ...denied,
    current_holder: z.string().nullable(),
    stale: z.boolean().describe('the holder has gone silent'),
    expires_at: time.nullable(),
  }),
  z.object({ reason: z.literal('DENIED_DEPENDENCIES'), ...denied, waiting_for: z.array(z.string()) }),
  z.object({
    reason: z.literal('NOTHING_READY'),
    ...denied,
    waiting_for: z.array(z.string()),
    done: z.boolean().describe('all work of the wanted kinds and track is complete'),
  }),
  z.object({ reason: z.literal('DENIED_HELD'), ...denied, hold_reason: z.string() }),
  z.object({ reason: z.literal('DENIED_BACKOFF'), ...denied, retry_at: time }),
  z.object({ reason: z.literal('DENIED_LIMIT'), ...denied, ...limitFields }),
  z.object({
    reason: z.literal('DENIED_PARALLEL'),
    ...denied,
    shared_modules: z.array(z.string()).describe('the modules that others work on'),
    holders: z.array(sharedHolder),
  }),
  z.object({
    reason: z.enum([
      'UNKNOWN_PROJECT',
      'UNKNOWN_TASK',
      'SESSION_CLOSED',
      'DENIED_SINGLE_AGENT',
      'DENIED_COMPLETED',
      'DENIED_BATCH',
    ]),
    ...denied,
  }),
]);

const refused = { success: z.literal(false), next };
export const renewalResult = namedResult('RenewalResult', [
  z.object({ success: z.literal(true), reason: z.literal('RENEWED'), new_expiry: time.nullable() }),
  z.object({ reason: z.enum(RENEWAL_REFUSALS), ...refused, new_expiry: z.null() }),
]);
/** Reply to a holder's command without further data: done, or why the handle is invalid. */
const holderResult = <Done extends string>(done: Done) =>
  z.discriminatedUnion('reason', [
    z.object({ success: z.literal(true), reason: z.literal(done) }),
    z.object({ reason: z.enum(HANDLE_REFUSALS), ...refused }),
  ]);
export const releaseResult = named('ReleaseResult', holderResult('RELEASED'));
export const noteResult = named('NoteResult', holderResult('NOTED'));
export const gateResult = namedResult('GateResult', [
  z.object({
    success: z.literal(true),
    reason: z.enum(GATE_SUCCESSES),
    generation: count,
    /** When a suspended claim expires. */
    until: time.nullable(),
  }),
  z.object({ reason: z.enum(GATE_REFUSALS), ...refused, generation: count, until: time.nullable() }),
]);

const submissionFields = {
  current_generation: count,
  work_lost: z.boolean(),
  late: z.boolean(),
  parked: z.string().describe('id of the refused result, if it is kept').nullable(),
};
const refusedSubmission = {
  accepted: z.literal(false),
  ...submissionFields,
  work_product_ref: z.null(),
  next,
};
export const submissionResult = namedResult('SubmissionResult', [
  z.object({
    accepted: z.literal(true),
    reason: z.literal('ACCEPTED'),
    ...submissionFields,
    work_product_ref: z.string(),
  }),
  z.object({
    reason: z.literal('NOT_CONVERGED'),
    ...refusedSubmission,
    failing: z.array(failingCheck).describe('required checks that have not passed'),
  }),
  z.object({ reason: z.enum(SUBMISSION_REFUSALS).exclude(['NOT_CONVERGED']), ...refusedSubmission }),
]);

export type TaskClaim = ReplyOf<typeof taskClaim>;
export type GrantedClaim = ReplyOf<typeof grantedClaim>;
export type Briefing = ReplyOf<typeof briefing>;
export type ClaimResult = ReplyOf<typeof claimResult>;
export type RenewalResult = ReplyOf<typeof renewalResult>;
export type ReleaseResult = ReplyOf<typeof releaseResult>;
export type NoteResult = ReplyOf<typeof noteResult>;
export type GateResult = ReplyOf<typeof gateResult>;
export type SubmissionResult = ReplyOf<typeof submissionResult>;
export type FailingCheck = ReplyOf<typeof failingCheck>;

// Operations

const CLAIMS_PATH = `${PROJECT_PATH}/claims`;
const RESULTS_PATH = `${PROJECT_PATH}/results`;

/** A call for many commands in one request, each with its own reply. */
const batch = <Item extends z.ZodType>(path: string, summary: string, body: z.ZodType, item: Item) =>
  ({
    method: 'POST',
    path: `${path}/batch`,
    action: 'work',
    summary,
    body: json(body),
    reply: z.object({ results: z.array(z.union([item, problemDocument])) }),
  }) as const;

const itemsOf = (item: z.ZodType) => itemsBody.extend({ items: z.array(item).max(BATCH_ITEMS_MAX) });

export const claimOperations = {
  claim_task: command(CLAIMS_PATH, 'Claim a task or an edge', claimBody, claimResult),
  batch_claim: batch(
    CLAIMS_PATH,
    'Claim several tasks, each independently or all or nothing',
    batchClaimBody,
    claimResult,
  ),
  renew_lease: command(`${CLAIMS_PATH}/renew`, 'Renew the lease of a claim', renewBody, renewalResult),
  renew_batch: batch(`${CLAIMS_PATH}/renew`, 'Renew several leases', itemsOf(renewBody), renewalResult),
  release_claim: command(`${CLAIMS_PATH}/release`, 'Release a claim', releaseBody, releaseResult),
  release_batch: batch(
    `${CLAIMS_PATH}/release`,
    'Release several claims',
    itemsOf(releaseBody),
    releaseResult,
  ),
  suspend_claim: command(
    `${CLAIMS_PATH}/suspend`,
    'Suspend a claim while a human decides',
    suspendBody,
    gateResult,
  ),
  resume_claim: command(`${CLAIMS_PATH}/resume`, 'Resume a suspended claim', resumeBody, gateResult),
  submit_result: command(RESULTS_PATH, 'Submit the result of a claim', submitBody, submissionResult),
  submit_batch: batch(RESULTS_PATH, 'Submit several results', itemsOf(submitBody), submissionResult),
  record_review: {
    ...command(
      `${PROJECT_PATH}/reviews`,
      'Record the decision on work that waits for a human',
      reviewBody,
      gateResult,
    ),
    action: 'review',
  },
  next: command(
    `${PROJECT_PATH}/next`,
    'Claim the best ready work: a task, or an edge, with its briefing',
    nextBody,
    claimResult,
  ),
} as const satisfies ApiOperations;
