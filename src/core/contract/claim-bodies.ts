import { z } from 'zod';
import { agentIdSchema, requestIdSchema, sessionIdSchema } from '../ids.js';
import { checkReports, FAILING_CHECKS_MAX, FAILING_TEXT_MAX } from './checks.js';
import { offlineFields } from './offline.js';
import {
  boundedText,
  claimId,
  generationSchema,
  iteration,
  mutationFields,
  plainObject,
  plainValue,
  sha256Schema,
  subjectSchema,
  withinBytes,
} from './schema.js';
import { WORK_KINDS } from './values.js';

/** Bodies of the commands on claims. They are strict and bounded. */

export const METADATA_BYTES_MAX = 4096;
export const BATCH_ITEMS_MAX = 1000;
export const ATOMIC_ITEMS_MAX = 20;
export const LEASE_SECONDS_MAX = 366 * 24 * 3600;

/** What a client adds to a claim or a result; the rules do not read it. */
const metadata = plainObject.refine(...withinBytes(METADATA_BYTES_MAX));

export const handleFields = {
  task_id: subjectSchema,
  session_id: sessionIdSchema,
  claim_id: claimId.optional(),
};
export const leaseFields = {
  lease_duration_seconds: z.number().int().min(1).max(LEASE_SECONDS_MAX).optional(),
};

/** If the session already holds the work, returns its claim, but only to the credential that claimed it. */
const resume = z.boolean().optional();

export const claimBody = z.strictObject({
  task_id: subjectSchema.optional(),
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
/** Leaves space for the index that is appended to form the request id of each claim. */
export const BATCH_ID_LENGTH_MAX = 120;
export const batchClaimBody = z.strictObject({
  claims: z
    .array(claimBody.omit({ with_briefing: true, offline: true }))
    .min(1)
    .max(BATCH_ITEMS_MAX),
  mode: z.enum(['partial', 'all_or_nothing']).default('partial'),
  ...mutationFields,
  request_id: requestIdSchema.max(BATCH_ID_LENGTH_MAX).optional(),
});
/** A list of bodies, each validated on its own: an invalid one is refused alone. */
export const itemsBody = z.strictObject({
  items: z.array(z.unknown()).max(BATCH_ITEMS_MAX),
  ...mutationFields,
});
/** The holder's command on its claim. */
export const holderBody = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject({ ...handleFields, expected_generation: generationSchema, ...shape, ...mutationFields });
export const renewBody = holderBody(leaseFields);
export const releaseBody = holderBody({
  reason: z.enum(['VOLUNTARY', 'ERROR']).default('VOLUNTARY'),
  message: boundedText(2000).optional(),
  ...offlineFields,
});
export const submitBody = z
  .strictObject({
    ...handleFields,
    generation: generationSchema,
    result_data: plainValue.optional(),
    blob_sha256: sha256Schema.optional(),
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
  candidate_sha256: sha256Schema.optional(),
  failing: z
    .array(z.strictObject({ name: boundedText(FAILING_TEXT_MAX), says: boundedText(FAILING_TEXT_MAX) }))
    .max(FAILING_CHECKS_MAX)
    .optional()
    .describe('required checks that the candidate has not passed; with one, it cannot be approved'),
  ...offlineFields,
});
export const resumeBody = holderBody(offlineFields);
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
export type NextBody = z.infer<typeof nextBody>;
