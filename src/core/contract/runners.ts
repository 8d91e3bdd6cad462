import { z } from 'zod';
import { EVIDENCE_BYTES_MAX, RUNNER_STATES, signedEvidence } from '../engine/evidence.js';
import { requestIdSchema } from '../ids.js';
import { effectiveCheck } from './checks.js';
import { holderBody } from './claim-bodies.js';
import { EVIDENCE_REFUSALS, PROPOSE_REFUSALS } from './codes.js';
import { type ApiOperations, commandOperation, jsonBody, PROJECT_PATH, readOperation } from './operation.js';
import {
  boundedText,
  count,
  iteration,
  namedObject,
  namedResult,
  nextPage,
  nextStep,
  pageQuery,
  type ReplyOf,
  sha256Schema,
  time,
  withinBytes,
} from './schema.js';

/** Runners, the candidates that wait for them, and their evidence. */

export const enrolRunnerBody = z.strictObject({
  public_key: boundedText(64).describe('the Ed25519 public key of the runner, in base64url'),
  label: boundedText(100).optional(),
  request_id: requestIdSchema.optional(),
});
export const proposeBody = holderBody({
  candidate_sha256: sha256Schema.describe(
    'of the manifest, uploaded as a blob; the result to be submitted is this manifest',
  ),
  iteration: iteration.optional(),
});
export const evidenceBody = z.strictObject({
  evidence: signedEvidence.refine(...withinBytes(EVIDENCE_BYTES_MAX)),
  request_id: requestIdSchema.optional(),
});

const runner = namedObject('Runner', {
  runner_id: z.string(),
  state: z.enum(RUNNER_STATES),
  public_key: z.string(),
  label: z.string().nullable(),
  enrolled_by: z.string(),
  enrolled_at: time,
  revoked_at: time.nullable(),
});
/** A candidate that waits for the evidence of a runner, or has it. */
const waitingCandidate = namedObject('Candidate', {
  task_id: z.string(),
  generation: count,
  candidate_sha256: z.string(),
  iteration: count,
  proposed_at: time,
  base_version: count.describe(
    'what the evidence must name; it rises when the result of an edge is accepted',
  ),
  checks: z.array(effectiveCheck).describe('the deterministic checks to run'),
  evidence_of: z.array(z.string()).describe('runners that have made a statement which still counts'),
});
const proposeResult = namedResult('ProposeResult', [
  z.object({
    success: z.literal(true),
    reason: z.literal('PROPOSED'),
    task_id: z.string(),
    generation: count,
    candidate_sha256: z.string(),
    base_version: count,
  }),
  z.object({ success: z.literal(false), reason: z.enum(PROPOSE_REFUSALS), next: nextStep }),
]);
const evidenceResult = namedResult('EvidenceResult', [
  z.object({ success: z.literal(true), reason: z.literal('RECORDED'), task_id: z.string() }),
  z.object({ success: z.literal(false), reason: z.enum(EVIDENCE_REFUSALS), next: nextStep }),
]);

export type Runner = ReplyOf<typeof runner>;
export type WaitingCandidate = ReplyOf<typeof waitingCandidate>;
export type EnrolRunnerBody = z.infer<typeof enrolRunnerBody>;
export type ProposeBody = z.infer<typeof proposeBody>;
export type ProposeResult = ReplyOf<typeof proposeResult>;
export type EvidenceResult = ReplyOf<typeof evidenceResult>;

const RUNNERS_PATH = `${PROJECT_PATH}/runners` as const;
const CANDIDATES_PATH = `${PROJECT_PATH}/candidates` as const;

export const runnerOperations = {
  enrol_runner: {
    method: 'POST',
    path: RUNNERS_PATH,
    action: 'administer',
    summary: 'Enrol a runner by its public key: what it signs counts as evidence of checks',
    body: jsonBody(enrolRunnerBody),
    reply: runner,
  },
  list_runners: {
    method: 'GET',
    path: RUNNERS_PATH,
    action: 'administer',
    summary: 'List the runners of the project, with those that are revoked',
    reply: z.object({ runners: z.array(runner) }),
  },
  revoke_runner: {
    method: 'DELETE',
    path: `${RUNNERS_PATH}/{runner_id}`,
    action: 'administer',
    summary: 'Revoke a runner; all its evidence stops counting at once',
    reply: runner,
  },
  propose_candidate: commandOperation(
    CANDIDATES_PATH,
    'Propose a candidate for an edge: runners run its checks before it is submitted',
    proposeBody,
    proposeResult,
  ),
  list_candidates: readOperation(
    CANDIDATES_PATH,
    'List the candidates of claimed edges, with the checks that a runner must run',
    { query: pageQuery, reply: z.object({ candidates: z.array(waitingCandidate), next: nextPage }) },
  ),
  record_evidence: {
    ...commandOperation(
      `${PROJECT_PATH}/evidence`,
      'Record the signed evidence of a runner about a candidate',
      evidenceBody,
      evidenceResult,
    ),
    action: 'attest',
  },
} as const satisfies ApiOperations;
