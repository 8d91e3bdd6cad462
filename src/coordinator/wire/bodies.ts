import { z } from 'zod';
import { REVIEW_DECISIONS } from '../../core/claims/head.js';
import { isoTimestamp } from '../../core/events/fields.js';
import { agentIdSchema, projectIdSchema, requestIdSchema, sessionIdSchema } from '../../core/ids.js';
import { CHECK_RESULTS } from '../../core/methodology/definition/convergence.js';
import { ROLES } from '../../core/roles.js';
import { isPublicKey } from '../authentication/public-key.js';

/** Request bodies of the commands: strict, bounded, and named as in the wire contract. */

const SUBJECT_CHARS_MAX = 200;
const METADATA_BYTES_MAX = 4096;
export const NOTE_BYTES_MAX = 4096;
const PAYLOAD_BYTES_MAX = 64 * 1024;
export const BATCH_ITEMS_MAX = 1000;
export const ATOMIC_ITEMS_MAX = 20;

const generation = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const leaseSeconds = z
  .number()
  .int()
  .min(1)
  .max(366 * 24 * 3600);
const subject = z.string().min(1).max(SUBJECT_CHARS_MAX);
const boundedText = (max: number) => z.string().min(1).max(max);
const claimId = z.string().min(1).max(64);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/** Plain JSON data within bounds: no key that could reach a prototype, no depth that could exhaust the stack. */
export function isPlainData(value: unknown, depthMax = 32): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depthMax === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isPlainData(item, depthMax - 1));
  return Object.keys(value).every(
    (key) => !FORBIDDEN_KEYS.has(key) && isPlainData((value as Record<string, unknown>)[key], depthMax - 1),
  );
}

const PLAIN_DATA_MESSAGE =
  'expected plain JSON data, at most 32 deep, without __proto__, constructor or prototype keys';
const plainObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && isPlainData(value),
  PLAIN_DATA_MESSAGE,
);
const metadata = plainObject.refine(
  (value) => Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES_MAX,
  `at most ${METADATA_BYTES_MAX} bytes`,
);

/** Optional fields of every mutating command. */
export const mutationFields = {
  request_id: requestIdSchema.optional(),
  signature: z.string().max(512).optional(),
};
const handleFields = { task_id: subject, session_id: sessionIdSchema, claim_id: claimId.optional() };
const leaseFields = { lease_duration_seconds: leaseSeconds.optional() };

export const claimBody = z.strictObject({
  task_id: subject.optional(),
  feature_id: boundedText(100).optional(),
  edge: boundedText(100).optional(),
  agent_id: agentIdSchema,
  session_id: sessionIdSchema,
  ...leaseFields,
  agent_role: boundedText(64).optional(),
  metadata: metadata.optional(),
  /** Include the briefing, as `next` does. Off by default, because it costs a read. */
  with_briefing: z.boolean().optional(),
  ...mutationFields,
});
export const batchClaimBody = z.strictObject({
  claims: z
    .array(claimBody.omit({ with_briefing: true }))
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
export const renewBody = z.strictObject({
  ...handleFields,
  expected_generation: generation,
  ...leaseFields,
  ...mutationFields,
});
export const releaseBody = z.strictObject({
  ...handleFields,
  expected_generation: generation,
  reason: z.enum(['VOLUNTARY', 'ERROR']).default('VOLUNTARY'),
  message: boundedText(2000).optional(),
  ...mutationFields,
});
const EVALUATORS_BYTES_MAX = 64 * 1024;
const checkCount = z.number().int().min(0).max(100_000);
/** Results of an edge's checks. Each is judged by its detail; the counts are for readers and must agree with the details. */
const evaluators = z
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
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= EVALUATORS_BYTES_MAX,
    `at most ${EVALUATORS_BYTES_MAX} bytes`,
  )
  .refine(({ passed, failed, total, details }) => {
    const notPassed = details.filter(({ result }) => result !== 'pass').length;
    const knownFailed = details.filter(({ result }) => result === 'fail').length;
    return details.length <= total && passed <= total - notPassed && failed >= knownFailed;
  }, 'expected counts that agree with the details');
export const submitBody = z
  .strictObject({
    ...handleFields,
    generation,
    result_data: z
      .custom<unknown>((value) => value === undefined || isPlainData(value), PLAIN_DATA_MESSAGE)
      .optional(),
    blob_sha256: sha256.optional(),
    iteration: z.number().int().min(1).max(1_000_000).optional(),
    evaluators: evaluators.optional(),
    convergence_type: boundedText(256).optional(),
    context_hash: boundedText(256).optional(),
    ...mutationFields,
  })
  .refine((body) => (body.result_data === undefined) !== (body.blob_sha256 === undefined), {
    path: ['result_data'],
    message: 'expected result_data or blob_sha256, one of the two',
  });
export const suspendBody = z.strictObject({
  ...handleFields,
  expected_generation: generation,
  iteration: z.number().int().min(1).max(1_000_000).optional(),
  candidate_sha256: sha256.optional(),
  ...mutationFields,
});
export const resumeBody = z.strictObject({
  ...handleFields,
  expected_generation: generation,
  ...mutationFields,
});
export const reviewBody = z.strictObject({
  task_id: subject,
  generation,
  iteration: z.number().int().min(1).max(1_000_000),
  candidate_sha256: sha256,
  decision: z.enum(REVIEW_DECISIONS),
  comment: boundedText(4000).optional(),
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
  wait_seconds: z.number().min(0).max(30).default(0),
  ...mutationFields,
});
export const noteBody = z.strictObject({
  ...handleFields,
  generation,
  text: boundedText(NOTE_BYTES_MAX).refine(
    (note) => Buffer.byteLength(note) <= NOTE_BYTES_MAX,
    `expected at most ${NOTE_BYTES_MAX} bytes`,
  ),
  ...mutationFields,
});

export const appendBody = z.strictObject({
  event_type: boundedText(100),
  task_id: subject.optional(),
  feature_id: boundedText(100).optional(),
  edge: boundedText(100).optional(),
  agent_id: agentIdSchema,
  agent_role: boundedText(64).optional(),
  session_id: sessionIdSchema.optional(),
  generation: generation.optional(),
  claim_id: claimId.optional(),
  // Version 5 (name-based) is reserved for the events that the coordinator deduplicates.
  event_id: z
    .uuid()
    .refine((id) => id[14] !== '5', 'expected a UUID of another version than 5')
    .optional(),
  /** When it happened, if not now. */
  occurred_at: isoTimestamp.optional(),
  payload: plainObject.refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= PAYLOAD_BYTES_MAX,
    `at most ${PAYLOAD_BYTES_MAX} bytes`,
  ),
  ...mutationFields,
});
/** Events of other tools. `core/events/imported-event.ts` validates each one. */
export const importBody = z.strictObject({
  events: z.array(plainObject).max(BATCH_ITEMS_MAX),
  ...mutationFields,
});

const operatorFields = { expected_generation: generation, reason: boundedText(2000), ...mutationFields };
export const OPERATOR_VERBS = ['force_release', 'reassign', 'reset', 'hold', 'unhold', 'adopt'] as const;
export type OperatorVerb = (typeof OPERATOR_VERBS)[number];
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

const PUBLIC_KEY_MESSAGE =
  'expected an Ed25519 public key: its 32 bytes in base64url, a point of the curve and no weak one';
export const sessionBody = z.strictObject({
  session_id: sessionIdSchema.optional(),
  /** Default: the credential's user. */
  user_id: boundedText(200).optional(),
  project_id: projectIdSchema,
  public_key: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, { error: PUBLIC_KEY_MESSAGE, abort: true })
    .refine(isPublicKey, PUBLIC_KEY_MESSAGE)
    .optional(),
  ...mutationFields,
});

const stalePolicy = z.enum(['takeover', 'hold']);
const seconds = (max: number) => z.number().int().min(1).max(max);
const YEAR_SECONDS = 366 * 24 * 3600;
export const policyBody = z.strictObject({
  stale_policy: z
    .union([stalePolicy, z.strictObject({ task: stalePolicy.optional(), edge: stalePolicy.optional() })])
    .optional(),
  late_submit: z.enum(['accept', 'reject']).optional(),
  max_hold_seconds: seconds(YEAR_SECONDS).nullable().optional(),
  stale_threshold_seconds: seconds(YEAR_SECONDS).optional(),
  claim_ttl_seconds: seconds(YEAR_SECONDS).optional(),
  sweep_interval_seconds: seconds(24 * 3600).optional(),
  suspend_max_seconds: seconds(YEAR_SECONDS).optional(),
  max_attempts: z.number().int().min(1).max(1000).optional(),
  max_agents_per_track: z.number().int().min(1).max(10_000).nullable().optional(),
  compliance_profile: z.enum(['hipaa', 'soc2', 'pci']).nullable().optional(),
  ...mutationFields,
});

/** The YAML files of a workspace, by path below `.ai-workspace/`. Their parser limits number and length. */
export const configureBody = z.strictObject({
  files: z.record(boundedText(1024), z.string()),
  ...mutationFields,
  // Leaves space for the index of a transaction: features are written in several.
  request_id: requestIdSchema.max(120).optional(),
});

const count = (max: number) => z.number().int().min(0).max(max);
export const limitsBody = z.strictObject({
  max_concurrent_claims: count(10_000_000).optional(),
  max_lease_duration_seconds: seconds(YEAR_SECONDS).optional(),
  min_lease_duration_seconds: seconds(YEAR_SECONDS).optional(),
  max_generations_per_task: count(1_000_000_000).optional(),
  claim_history_retention_days: count(36_500).optional(),
  max_result_size_bytes: count(1024 ** 3).optional(),
  max_active_sessions: count(1_000_000).optional(),
  session_idle_seconds: seconds(YEAR_SECONDS).optional(),
  require_signatures: z.boolean().optional(),
  ...mutationFields,
});

const TEN_YEARS_SECONDS = 10 * YEAR_SECONDS;
export const keyBody = z
  .strictObject({
    role: z.enum(ROLES),
    label: boundedText(100).optional(),
    user_id: agentIdSchema.optional(),
    expires_in_seconds: seconds(TEN_YEARS_SECONDS).optional(),
    expires_at: z.iso.datetime().optional(),
    ...mutationFields,
  })
  .refine((body) => body.expires_in_seconds === undefined || body.expires_at === undefined, {
    path: ['expires_at'],
    message: 'expected expires_in_seconds or expires_at, not both',
  });

export type ClaimBody = z.infer<typeof claimBody>;
export type BatchClaimBody = z.input<typeof batchClaimBody>;
export type RenewBody = z.infer<typeof renewBody>;
export type ReleaseBody = z.infer<typeof releaseBody>;
export type SubmitBody = z.infer<typeof submitBody>;
export type SuspendBody = z.infer<typeof suspendBody>;
export type ResumeBody = z.infer<typeof resumeBody>;
export type ReviewBody = z.infer<typeof reviewBody>;
export type NextBody = z.infer<typeof nextBody>;
export type NoteBody = z.infer<typeof noteBody>;
export type AppendBody = z.infer<typeof appendBody>;
export type ImportBody = z.infer<typeof importBody>;
export type SessionBody = z.infer<typeof sessionBody>;
export type PolicyBody = z.infer<typeof policyBody>;
export type LimitsBody = z.infer<typeof limitsBody>;
export type ConfigureBody = z.infer<typeof configureBody>;
export type KeyBody = z.infer<typeof keyBody>;
