import { z } from 'zod';
import { briefing } from './briefing.js';
import { failingCheck } from './checks.js';
import { grantedClaim } from './claim-records.js';
import {
  GATE_REFUSALS,
  GATE_SUCCESSES,
  HANDLE_REFUSALS,
  RENEWAL_REFUSALS,
  SUBMISSION_REFUSALS,
} from './codes.js';
import { count, limitFields, namedResult, nextStep, type ReplyOf, time, withName } from './schema.js';

/** Replies to the commands on claims: done, or why not. */

const refusedClaim = { success: z.literal(false), claim: z.null(), current_holder: z.null(), next: nextStep };
/** A claim of another agent on some of the same modules. */
const overlappingClaim = z.object({
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
    resumed: z.literal(true).describe('the session already held the claim').exactOptional(),
    warnings: z.array(z.string()).exactOptional(),
    briefing: briefing.exactOptional(),
  }),
  z.object({
    reason: z.literal('DENIED_ACTIVE_CLAIM'),
    ...refusedClaim,
    current_holder: z.string().nullable(),
    stale: z.boolean().describe('the holder has been inactive for longer than stale_threshold_seconds'),
    expires_at: time.nullable(),
  }),
  z.object({ reason: z.literal('DENIED_DEPENDENCIES'), ...refusedClaim, waiting_for: z.array(z.string()) }),
  z.object({
    reason: z.literal('NOTHING_READY'),
    ...refusedClaim,
    waiting_for: z.array(z.string()),
    done: z.boolean().describe('all work of the wanted kinds and track is complete'),
  }),
  z.object({ reason: z.literal('DENIED_HELD'), ...refusedClaim, hold_reason: z.string() }),
  z.object({ reason: z.literal('DENIED_BACKOFF'), ...refusedClaim, retry_at: time }),
  z.object({ reason: z.literal('DENIED_LIMIT'), ...refusedClaim, ...limitFields }),
  z.object({
    reason: z.literal('DENIED_PARALLEL'),
    ...refusedClaim,
    shared_modules: z.array(z.string()).describe('the modules that others work on'),
    holders: z.array(overlappingClaim),
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
    ...refusedClaim,
  }),
]);

const refusedFields = { success: z.literal(false), next: nextStep };
export const renewalResult = namedResult('RenewalResult', [
  z.object({ success: z.literal(true), reason: z.literal('RENEWED'), new_expiry: time.nullable() }),
  z.object({ reason: z.enum(RENEWAL_REFUSALS), ...refusedFields, new_expiry: z.null() }),
]);
/** Reply to a holder's command without further data: done, or why the handle is invalid. */
const holderResult = <Done extends string>(done: Done) =>
  z.discriminatedUnion('reason', [
    z.object({ success: z.literal(true), reason: z.literal(done) }),
    z.object({ reason: z.enum(HANDLE_REFUSALS), ...refusedFields }),
  ]);
export const releaseResult = withName('ReleaseResult', holderResult('RELEASED'));
export const noteResult = withName('NoteResult', holderResult('NOTED'));
export const gateResult = namedResult('GateResult', [
  z.object({
    success: z.literal(true),
    reason: z.enum(GATE_SUCCESSES),
    generation: count,
    /** When a suspended claim expires, or the lease of a resumed one; null if it never does, and for a review. */
    until: time.nullable(),
  }),
  z.object({ reason: z.enum(GATE_REFUSALS), ...refusedFields, generation: count, until: time.nullable() }),
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
  next: nextStep,
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

export type ClaimResult = ReplyOf<typeof claimResult>;
export type RenewalResult = ReplyOf<typeof renewalResult>;
export type ReleaseResult = ReplyOf<typeof releaseResult>;
export type NoteResult = ReplyOf<typeof noteResult>;
export type GateResult = ReplyOf<typeof gateResult>;
export type SubmissionResult = ReplyOf<typeof submissionResult>;
