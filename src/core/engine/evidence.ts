import { z } from 'zod';
import { canonicalJson } from '../canonical-json.js';
import type { EffectiveCheck } from '../contract/checks.js';
import { eventSha256, isoTimestamp, nameSchema, nonNegativeInteger } from '../events/fields.js';
import { ownValue } from '../own-value.js';
import { baseFaultOf, type CheckOutcome, checkOutcomeSchema } from './check-outcome.js';

/**
 * Evidence of a runner: the results of a candidate's deterministic checks, signed with the runner's key. The
 * coordinator verifies the signature when it records a statement; whether the statement counts is decided here.
 */

/** The first line of the signed text, so that the signature is not valid for any other purpose. */
const SIGNING_DOMAIN = 'gcc/evidence/v1';
const CHECKS_PER_STATEMENT_MAX = 100;
export const EVIDENCE_BYTES_MAX = 32 * 1024;
/** Maximum number of statements that are kept about one candidate. Of each runner only the last one is kept. */
export const STATEMENTS_MAX = 4;
/** Maximum number of runners of a project, revoked ones included. */
export const RUNNERS_MAX = 50;

export const runnerIdSchema = z
  .string()
  .regex(/^rnr_[0-9a-f]{24}$/, { error: 'expected the id of a runner' });

/** What the runner laid the candidate over: a commit that the runner itself resolved, or a folder, by a digest of its files. */
const evidenceBase = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('git'), commit: z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/) }),
  z.strictObject({ kind: z.literal('tree'), sha256: eventSha256 }),
]);
export type EvidenceBase = z.output<typeof evidenceBase>;

const evidenceStatement = z.strictObject({
  version: z.literal(1),
  tenant_id: nameSchema,
  project_id: nameSchema,
  task_id: nameSchema,
  generation: z.int().min(1),
  /** The digest of the manifest, which is also the digest of the result. */
  candidate_sha256: eventSha256,
  base: evidenceBase,
  /**
   * The project's base version (`~base`) when the runner listed the candidate, before it fetched the base. From the first
   * proposed candidate of the project on, every accepted result of an edge raises it.
   */
  base_version: nonNegativeInteger,
  runner_id: runnerIdSchema,
  started_at: isoTimestamp,
  ended_at: isoTimestamp,
  checks: z.array(checkOutcomeSchema).max(CHECKS_PER_STATEMENT_MAX),
});
export type EvidenceStatement = z.output<typeof evidenceStatement>;

export const signedEvidence = z.strictObject({
  statement: evidenceStatement,
  /** Ed25519 of `evidenceText`, in base64url. */
  signature: z.string().regex(/^[\w-]{86}$/, { error: 'expected 64 bytes in base64url, 86 characters' }),
});
export type SignedEvidence = z.output<typeof signedEvidence>;

/** The text to sign, as UTF-8. */
export const evidenceText = (statement: EvidenceStatement): string =>
  `${SIGNING_DOMAIN}\n${canonicalJson(statement)}`;

export const RUNNER_STATES = ['enrolled', 'revoked'] as const;
const runnerRecord = z.strictObject({
  state: z.enum(RUNNER_STATES),
  /** Ed25519, in base64url. */
  public_key: z.string().max(64),
  label: nameSchema.nullable(),
  enrolled_by: nameSchema,
  enrolled_at: isoTimestamp,
  revoked_at: isoTimestamp.nullable(),
});
export type RunnerRecord = z.output<typeof runnerRecord>;
/** Record of a project's runners, by id. */
export const runnersRecord = z.strictObject({ runners: z.record(runnerIdSchema, runnerRecord) });
export type Runners = z.output<typeof runnersRecord>['runners'];

/**
 * The runners with a new runner. If there are `RUNNERS_MAX` already, the one that was revoked first is dropped; null if none
 * of them is revoked.
 */
export function withRunner(runners: Runners, runnerId: string, added: RunnerRecord): Runners | null {
  const ids = Object.keys(runners);
  if (ids.length < RUNNERS_MAX) return { ...runners, [runnerId]: added };
  const revoked = ids.filter((id) => runners[id]?.state === 'revoked');
  const firstRevokedId = revoked.sort((a, b) => timeOf(runners[a]).localeCompare(timeOf(runners[b])))[0];
  if (firstRevokedId === undefined) return null;
  const { [firstRevokedId]: _, ...otherRunners } = runners;
  return { ...otherRunners, [runnerId]: added };
}

const timeOf = (runner: RunnerRecord | undefined): string => runner?.revoked_at ?? '';

/** Record of an edge's last candidate, with the statements of runners about it. */
export const candidateRecord = z.strictObject({
  generation: z.int().min(1),
  candidate_sha256: eventSha256,
  iteration: z.int().min(1),
  session_id: nameSchema,
  proposed_at: isoTimestamp,
  evidence: z.array(signedEvidence).max(STATEMENTS_MAX),
});
export type CandidateRecord = z.output<typeof candidateRecord>;

/**
 * The candidate with one more statement. The last statement of each runner is kept; if there are too many, the latest
 * are kept.
 */
export const withEvidence = (candidate: CandidateRecord, added: SignedEvidence): CandidateRecord => ({
  ...candidate,
  evidence: [
    ...candidate.evidence.filter(({ statement }) => statement.runner_id !== added.statement.runner_id),
    added,
  ].slice(-STATEMENTS_MAX),
});

/** Whether a runner could not run the checks on its base. Such a candidate can be proposed again, so that runners retry. */
export const hasBaseFault = ({ evidence }: CandidateRecord): boolean =>
  evidence.some(({ statement }) => baseFaultOf(statement.checks) !== null);

/** The current facts that a statement must agree with to count. */
export interface EvidenceFacts {
  readonly generation: number;
  readonly candidate_sha256: string;
  /** Whether exactly this candidate is proposed to runners, under this generation. */
  readonly is_proposed: boolean;
  readonly base_version: number;
  readonly runners: Runners;
  /** The digest of `checkDigestText`; null if the check cannot be run. */
  readonly checkDigest: (check: EffectiveCheck) => string | null;
}

export interface VerifiedOutcomes {
  /** Outcomes of deterministic checks by runners, which count instead of what the agent reports. */
  readonly outcomes: readonly CheckOutcome[];
  /** The runner whose statement decides, by the name of the check. */
  readonly runnerOf: ReadonlyMap<string, string>;
  /** By the name of each deterministic check that has not passed: why it has no valid evidence, or why it did not pass. */
  readonly notPassedTexts: ReadonlyMap<string, string>;
}

/** The outcomes of the deterministic checks that count under the policy `evidence: verified`. */
export function verifiedOutcomes(
  checks: readonly EffectiveCheck[],
  evidence: readonly SignedEvidence[],
  facts: EvidenceFacts,
): VerifiedOutcomes {
  const outcomes: CheckOutcome[] = [];
  const runnerOf = new Map<string, string>();
  const notPassedTexts = new Map<string, string>();
  for (const check of checks.filter(({ type }) => type === 'deterministic')) {
    const verified = verifiedOutcome(check, evidence, facts);
    if (typeof verified === 'string') notPassedTexts.set(check.name, verified);
    else {
      const { outcome, runner_id } = verified;
      outcomes.push(outcome);
      runnerOf.set(check.name, runner_id);
      if (outcome.result !== 'pass') notPassedTexts.set(check.name, outcomeText(outcome));
    }
  }
  return { outcomes, runnerOf, notPassedTexts };
}

/** Whether a statement has an outcome that counts for each of these checks, so that its runner need not run them again. */
export const isCompleteStatement = (
  statement: EvidenceStatement,
  checks: readonly EffectiveCheck[],
  facts: EvidenceFacts,
): boolean =>
  statementFault(statement, facts) === null &&
  checks.every((check) => outcomeFault(outcomeIn(statement, check), check, facts) === null);

/** Whether the runner could not run some check of the statement to its end. */
export const hasErrors = ({ checks }: EvidenceStatement): boolean =>
  checks.some(({ result }) => result === 'error');

const outcomeIn = ({ checks }: EvidenceStatement, { name }: EffectiveCheck): CheckOutcome | undefined =>
  checks.find((outcome) => outcome.name === name && outcome.type === 'deterministic');

const outcomeText = ({ result, says }: Pick<CheckOutcome, 'result' | 'says'>): string =>
  `A runner ran the check: ${result}${says === '' ? '' : `. ${says}`}`;

/** The outcome of a check in the last statement that counts; if none counts, why the last one does not, as a sentence. */
function verifiedOutcome(
  check: EffectiveCheck,
  evidence: readonly SignedEvidence[],
  facts: EvidenceFacts,
): { readonly outcome: CheckOutcome; readonly runner_id: string } | string {
  let lastFault: string | null = null;
  for (const { statement } of evidence.toReversed()) {
    const outcome = outcomeIn(statement, check);
    const fault = statementFault(statement, facts) ?? outcomeFault(outcome, check, facts);
    if (fault === null && outcome !== undefined) return { outcome, runner_id: statement.runner_id };
    lastFault ??= fault;
  }
  return lastFault ?? noEvidenceText(facts);
}

const hasEnrolledRunner = (runners: Runners): boolean =>
  Object.values(runners).some(({ state }) => state === 'enrolled');

/** Why there is no statement yet. Kept short, as it is repeated per check; `describeEvidencePolicy` has the full advice. */
function noEvidenceText({ candidate_sha256, is_proposed, runners }: EvidenceFacts): string {
  const proposalText = is_proposed
    ? `Proposed as ${candidate_sha256.slice(0, 12)}`
    : 'Not proposed yet (gen task propose)';
  return hasEnrolledRunner(runners)
    ? `${proposalText}; ${is_proposed ? 'waiting for a runner (gen runner run)' : 'a runner runs the checks of proposed candidates'}.`
    : `${proposalText}; no runner is enrolled (gen runner enrol).`;
}

function statementFault(statement: EvidenceStatement, facts: EvidenceFacts): string | null {
  const state = ownValue(facts.runners, statement.runner_id)?.state;
  if (state !== 'enrolled')
    return `The evidence was signed by runner ${statement.runner_id}, which is ${state ?? 'not enrolled'}: let an enrolled runner run the checks.`;
  if (statement.generation !== facts.generation)
    return `The evidence is of generation ${statement.generation}, but the current one is ${facts.generation}: run the checks again.`;
  if (statement.candidate_sha256 !== facts.candidate_sha256)
    return `The evidence is of the candidate ${statement.candidate_sha256.slice(0, 12)}, but the current one is ${facts.candidate_sha256.slice(0, 12)}: propose it and let a runner run its checks.`;
  if (statement.base_version !== facts.base_version)
    return 'The base has moved: another result was accepted since the runner began. Let a runner run the checks again.';
  return null;
}

function outcomeFault(
  outcome: CheckOutcome | undefined,
  check: EffectiveCheck,
  facts: EvidenceFacts,
): string | null {
  if (outcome === undefined) return 'The evidence does not contain this check: run the checks again.';
  // A check that the runner could not start has no command to compare. Its outcome counts, because it has not passed.
  if (outcome.command_sha256 === null && outcome.result !== 'pass') return null;
  // Evidence of older versions does not identify its report and minimum, so it cannot be compared and does not count.
  return outcome.check_sha256 !== undefined && outcome.check_sha256 === facts.checkDigest(check)
    ? null
    : 'The evidence is of another command, report, minimum or timeout than the one configured now: run the checks again.';
}
