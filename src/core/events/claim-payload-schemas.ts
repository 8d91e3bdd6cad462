import { z } from 'zod';
import type { ClaimEventKind } from '../claims/claim-event-kinds.js';
import { CLAIM_STATES, REVIEW_DECISIONS } from '../claims/head.js';
import type { ClaimEventPayloads } from '../claims/payloads.js';
import { agentIdSchema, sessionIdSchema } from '../ids.js';
import { PATH_BYTES_MAX } from '../methodology/definition/asset-path.js';
import { count, isoTimestamp, name, openObject, sentence, sha256, text } from './fields.js';

const leaseFields = {
  lease_duration_seconds: z.number().nonnegative().nullable(),
  expires_at: isoTimestamp.nullable(),
};
const resultFields = {
  result_id: name,
  result_sha256: sha256,
  result_size_bytes: count,
  work_product_ref: name,
  result_data: z.unknown().optional(),
  blob_sha256: sha256.exactOptional(),
};
/** Signature of the command, in the format of core/signing.ts. */
const signatureField = { signature: text(512).exactOptional() };
/** The reason of a hold may quote an error message or a review comment in full, so it is longer than either. */
const operatorFields = { reason: text(8192), by: name };

/** Schema per kind of claim event. Tasks and edges use different event types for the same payloads. */
export const claimPayloadSchemas = {
  granted: z.strictObject({
    previous_generation: count,
    previous_state: z.enum([...CLAIM_STATES, 'NONE']),
    ...leaseFields,
    max_hold_until: isoTimestamp.exactOptional(),
    inputs: text(4096).exactOptional(),
    user_id: name.exactOptional(),
    metadata: openObject.exactOptional(),
    ...signatureField,
  }),
  renewed: z.strictObject({ ...leaseFields, ...signatureField }),
  lost: z.strictObject({
    cause: z.enum(['EXPIRED', 'SUPERSEDED']),
    disposition: z.enum(['held', 'eligible']),
    expired_at: isoTimestamp.exactOptional(),
    by: name.exactOptional(),
    reason: sentence.exactOptional(),
  }),
  released: z.strictObject({
    reason: z.enum(['ERROR', 'VOLUNTARY', 'FORCED', 'SESSION_CLOSED']),
    message: sentence.exactOptional(),
    by: name.exactOptional(),
    retry_at: isoTimestamp.exactOptional(),
    ...signatureField,
  }),
  suspended: z.strictObject({
    until: isoTimestamp,
    gate: z.strictObject({ iteration: count, candidate_sha256: sha256 }).exactOptional(),
    ...signatureField,
  }),
  resumed: z.strictObject({ ...leaseFields, ...signatureField }),
  accepted: z.strictObject({
    outcome: z.literal('ACCEPTED'),
    late: z.boolean(),
    ...resultFields,
    ...signatureField,
  }),
  adopted: z.strictObject({
    ...operatorFields,
    adopted_from: z.strictObject({
      result_id: name,
      generation: count,
      agent_id: agentIdSchema,
      session_id: sessionIdSchema,
    }),
    ...resultFields,
  }),
  escalated: z.strictObject({
    reason: sentence,
    iteration: count,
    until: isoTimestamp,
    paths: z.array(text(PATH_BYTES_MAX)).max(20).exactOptional(),
    path_count: count.exactOptional(),
    ...resultFields,
    ...signatureField,
  }),
  warned: z.strictObject({
    action: z.literal('warn'),
    reason: sentence,
    iteration: count,
    result_sha256: sha256,
    ...signatureField,
  }),
  reviewed: z.strictObject({
    decision: z.enum(REVIEW_DECISIONS),
    iteration: count,
    candidate_sha256: sha256,
    reviewer: name,
    comment: sentence.exactOptional(),
    lease_duration_seconds: leaseFields.lease_duration_seconds.exactOptional(),
    expires_at: leaseFields.expires_at.exactOptional(),
  }),
  held: z.strictObject(operatorFields),
  unheld: z.strictObject(operatorFields),
  reset: z.strictObject({ ...operatorFields, epoch: count }),
  claim_denied: z.strictObject({
    reason: name,
    current_generation: count,
    holding_agent: agentIdSchema.exactOptional(),
    waiting_for: z.array(name).max(20).exactOptional(),
    limit: name.exactOptional(),
    shared_modules: z.array(name).max(20).exactOptional(),
  }),
  result_denied: z.strictObject({
    submitted_generation: count,
    current_generation: count,
    rejection_reason: name,
    work_lost: z.boolean(),
    parked: z.boolean(),
    metadata: z.strictObject({ result_size_bytes: count }),
    ...resultFields,
    ...signatureField,
  }),
  noted: z.strictObject({ text: sentence, ...signatureField }),
} satisfies { [F in ClaimEventKind]: z.ZodType<ClaimEventPayloads[F]> };
