import { z } from 'zod';
import type { ClaimEventKind } from '../claims/claim-event-kinds.js';
import { CLAIM_STATES, REVIEW_DECISIONS } from '../claims/head.js';
import { agentIdSchema, sessionIdSchema } from '../ids.js';
import { PATH_BYTES_MAX } from '../methodology/definition/asset-path.js';
import {
  eventSha256,
  isoTimestamp,
  nameSchema,
  nonNegativeInteger,
  openObject,
  sentenceSchema,
  textUpTo,
} from './fields.js';

const leaseFields = {
  lease_duration_seconds: z.number().nonnegative().nullable(),
  expires_at: isoTimestamp.nullable(),
};
const resultFields = {
  result_id: nameSchema,
  result_sha256: eventSha256,
  result_size_bytes: nonNegativeInteger,
  work_product_ref: nameSchema,
  /** A small result is inline. A large one is a blob, whose digest is in `blob_sha256`. */
  result_data: z.unknown().optional(),
  blob_sha256: eventSha256.exactOptional(),
  /** `metadata` of the submission. */
  result_metadata: openObject.exactOptional(),
};
/** Time from the grant to the submission, by the store's clock. Absent if there was no grant. */
const processingTime = { processing_time_seconds: z.number().nonnegative().exactOptional() };
/** The credential that sent a refused command, and the number of this refusal among its refusals under the generation. */
const senderFields = {
  principal: nameSchema.exactOptional(),
  refused_count: nonNegativeInteger.exactOptional(),
};
/** Reported evidence of convergence: edges only. */
export const evidenceFields = {
  iteration: nonNegativeInteger.exactOptional(),
  evaluators: openObject.exactOptional(),
  convergence_type: nameSchema.exactOptional(),
  context_hash: nameSchema.exactOptional(),
};
export type ResultFields = z.infer<z.ZodObject<typeof resultFields & typeof evidenceFields>>;
/** When a pushed command was decided offline, according to the sender; never later than `timestamp`. */
const pushedFields = { occurred_at: isoTimestamp.exactOptional() };
/** The payload of a command that may have been signed, in the format of core/signing.ts, or pushed from an offline log. */
const signedPayload = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject({
    ...shape,
    signature: textUpTo(512).exactOptional(),
    signed_text: textUpTo(4096).exactOptional(),
    ...pushedFields,
  });
/** The reason of a hold may quote an error message or a review comment in full, so its maximum length exceeds that of both. */
const operatorFields = { reason: textUpTo(8192), by: nameSchema };

/** What an operator adopted: a result that was parked here, or a convergence that an imported log reports. */
const adoptedFrom = z.union([
  z.strictObject({
    result_id: nameSchema,
    generation: nonNegativeInteger,
    agent_id: agentIdSchema,
    session_id: sessionIdSchema,
  }),
  /** The imported event, which is in this log. */
  z.strictObject({
    imported: z.literal(true),
    event_id: z.uuid(),
    position: nonNegativeInteger,
    agent_id: agentIdSchema.exactOptional(),
    source: nameSchema.exactOptional(),
  }),
]);
export type AdoptedFrom = z.infer<typeof adoptedFrom>;

/** Maximum number of failing checks that an event of a submission names. */
export const FAILING_NAMES_MAX = 20;

/** Schema per kind of claim event. Tasks and edges use different event types for the same payloads. */
export const claimPayloadSchemas = {
  granted: signedPayload({
    previous_generation: nonNegativeInteger,
    previous_state: z.enum([...CLAIM_STATES, 'NONE']),
    ...leaseFields,
    max_hold_until: isoTimestamp.exactOptional(),
    inputs: textUpTo(4096).exactOptional(),
    user_id: nameSchema.exactOptional(),
    principal: nameSchema.exactOptional(),
    metadata: openObject.exactOptional(),
  }),
  renewed: signedPayload(leaseFields),
  lost: z.strictObject({
    cause: z.enum(['EXPIRED', 'SUPERSEDED']),
    /** `held`: reported only, the claim remains. `eligible`: any agent may claim now. */
    disposition: z.enum(['held', 'eligible']),
    expired_at: isoTimestamp.exactOptional(),
    by: nameSchema.exactOptional(),
    reason: sentenceSchema.exactOptional(),
  }),
  released: signedPayload({
    reason: z.enum(['ERROR', 'VOLUNTARY', 'FORCED', 'SESSION_CLOSED']),
    message: sentenceSchema.exactOptional(),
    by: nameSchema.exactOptional(),
    retry_at: isoTimestamp.exactOptional(),
  }),
  suspended: signedPayload({
    until: isoTimestamp,
    gate: z
      .strictObject({
        iteration: nonNegativeInteger,
        candidate_sha256: eventSha256,
        /** Required checks that the candidate has not passed; only the first are listed. */
        failing: z
          .array(z.strictObject({ name: textUpTo(1024), says: textUpTo(1024) }))
          .max(FAILING_NAMES_MAX)
          .readonly()
          .exactOptional(),
      })
      .exactOptional(),
  }),
  resumed: signedPayload(leaseFields),
  accepted: signedPayload({
    outcome: z.literal('ACCEPTED'),
    late: z.boolean(),
    metadata: z.strictObject(processingTime).exactOptional(),
    ...resultFields,
  }),
  adopted: z.strictObject({
    ...operatorFields,
    adopted_from: adoptedFrom,
    ...resultFields,
  }),
  escalated: signedPayload({
    reason: sentenceSchema,
    iteration: nonNegativeInteger,
    until: isoTimestamp,
    /** The first paths that need a person's attention; `path_count` has the total. */
    paths: z.array(textUpTo(PATH_BYTES_MAX)).max(20).exactOptional(),
    path_count: nonNegativeInteger.exactOptional(),
    /** The first checks that the profile of the feature leaves out, for the reason `omits_checks`. */
    omitted_checks: z.array(textUpTo(1024)).max(20).exactOptional(),
    ...resultFields,
  }),
  warned: signedPayload({
    action: z.literal('warn'),
    reason: sentenceSchema,
    iteration: nonNegativeInteger,
    result_sha256: eventSha256,
  }),
  reviewed: z.strictObject({
    decision: z.enum(REVIEW_DECISIONS),
    iteration: nonNegativeInteger,
    candidate_sha256: eventSha256,
    /** The person who decided. If `pushed_by` is set, that credential named the person. */
    reviewer: nameSchema,
    /** The credential that pushed a review that was decided offline. */
    pushed_by: nameSchema.exactOptional(),
    ...pushedFields,
    comment: sentenceSchema.exactOptional(),
    /** Fresh lease if the holder continues; absent if the review ended the claim. */
    lease_duration_seconds: leaseFields.lease_duration_seconds.exactOptional(),
    expires_at: leaseFields.expires_at.exactOptional(),
  }),
  held: z.strictObject(operatorFields),
  unheld: z.strictObject(operatorFields),
  reset: z.strictObject({ ...operatorFields, epoch: nonNegativeInteger }),
  claim_refused: z.strictObject({
    reason: nameSchema,
    current_generation: nonNegativeInteger,
    holding_agent: agentIdSchema.exactOptional(),
    waiting_for: z.array(nameSchema).max(20).readonly().exactOptional(),
    limit: nameSchema.exactOptional(),
    /** Modules that the holding agent's work touches too. */
    shared_modules: z.array(nameSchema).max(20).readonly().exactOptional(),
    ...senderFields,
    ...pushedFields,
  }),
  result_refused: signedPayload({
    submitted_generation: nonNegativeInteger,
    current_generation: nonNegativeInteger,
    rejection_reason: nameSchema,
    work_lost: z.boolean(),
    parked: z.boolean(),
    /** Present if the sender did not prove that it is the agent of a grant; the `session_id` is then unverified. */
    verified: z.literal(false).exactOptional(),
    /** For NOT_CONVERGED: the names of the first checks that did not pass. */
    failing: z.array(nameSchema).max(FAILING_NAMES_MAX).readonly().exactOptional(),
    metadata: z.strictObject({ result_size_bytes: nonNegativeInteger, ...processingTime }),
    ...senderFields,
    ...resultFields,
  }),
  refusals_counted: z.strictObject({
    current_generation: nonNegativeInteger,
    principal: nameSchema,
    /** All refusals of the principal under this generation so far, including those that are recorded in full. */
    refused_count: nonNegativeInteger,
  }),
  noted: signedPayload({ text: sentenceSchema }),
} satisfies Record<ClaimEventKind, z.ZodType>;

export type ClaimEventPayloads = {
  [Kind in ClaimEventKind]: z.infer<(typeof claimPayloadSchemas)[Kind]>;
};
