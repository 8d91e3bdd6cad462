import { claimRoleFault } from '../../core/agent-role.js';
import type { PastGrant, SubmitFacts } from '../../core/claims/commands.js';
import type { ConvergenceEvidence, Head, SubmittedResult } from '../../core/claims/head.js';
import { HUMAN_ROLE } from '../../core/claims/human-approval.js';
import type { EffectiveCheck, FailingCheck } from '../../core/contract/checks.js';
import type { SubmitBody } from '../../core/contract/claim-bodies.js';
import { type ChangedFile, escalateIfChecksChanged } from '../../core/engine/guarded-check-files.js';
import { type AuthorityDecision, checkAuthority } from '../../core/methodology/definition/authority.js';
import { effectiveChecklist, projectChecks } from '../../core/methodology/definition/checklist.js';
import { judgeConvergence, type ReportedCheck } from '../../core/methodology/definition/convergence.js';
import { checksOfDefaultProfileOnly } from '../../core/methodology/definition/default-profile-checks.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Project } from '../queue/project.js';
import { fieldProblem, type Problem, problem } from '../wire/problem.js';
import { deterministicChecks, type JudgedResult, verifiedOutcomesOf } from './edge-evidence.js';

type Evaluators = ConvergenceEvidence['evaluators'];

/** What a submission reports about its own convergence. */
interface ReportedConvergence {
  readonly evidence: ConvergenceEvidence | undefined;
  /** Files that the result changes, relative to the project's root. */
  readonly files: readonly ChangedFile[];
  readonly result: Pick<SubmittedResult, 'sha256'>;
  readonly caller: Caller;
}

/**
 * The methodology's requirements for this result of an edge. The role comes from the grant, not from the submission. If
 * the claim has no role, the credential's role counts.
 */
export function convergenceFacts(
  view: DecisionView,
  head: Head,
  reported: ReportedConvergence,
): Pick<SubmitFacts, 'authority' | 'convergence'> {
  const { methodology } = view;
  const { edge = '' } = subjectKeys(head.subject);
  const claimedRole = head.claim?.agent_role ?? null;
  const is_human = claimedRole === HUMAN_ROLE && reported.caller.may_review;
  // In an unconfigured project any agent can claim the role `human`,
  // so the role counts only for a caller who may review.
  const agent_role =
    claimedRole === HUMAN_ROLE && !is_human ? null : (claimedRole ?? reported.caller.agent_role);
  const files = reported.files.map(({ path }) => path);
  const roleAuthority = checkAuthority(methodology, { edge, agent_role, files, is_human });
  const isGuarded = view.policy.evidence === 'verified' && !is_human;
  const authority = isGuarded
    ? guardedAuthority(view, head.subject, roleAuthority, reported.files)
    : roleAuthority;
  const authorityDetails = {
    authority_reason: authority.reason,
    authority_paths: authority.paths ?? [],
    omitted_checks: authority.omitted_checks ?? [],
  };
  if (methodology === null && authority.decision === 'granted') return { authority: 'granted' };
  const evaluators = reported.evidence?.evaluators;
  const judged = { subject: head.subject, generation: head.generation, sha256: reported.result.sha256 };
  const { failing, needs_human_review } = evaluateConvergence(view, judged, evaluators);
  return {
    authority: authority.decision,
    convergence: {
      // A person may override every failing check except those that a program decides.
      failing: (is_human ? failing.filter(isProgramCheck) : failing).map(nameAndMessage),
      needs_human_review: needs_human_review && !is_human,
      ...authorityDetails,
    },
  };
}

function guardedAuthority(
  view: DecisionView,
  subject: string,
  roleAuthority: AuthorityDecision,
  files: readonly ChangedFile[],
): AuthorityDecision {
  const { methodology } = view;
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const feature = view.feature(feature_id);
  if (methodology === null || feature === null) return roleAuthority;
  // Includes the checks of the other edges: they run on the base that this result becomes part of.
  const checks = [...deterministicChecks(view, subject), ...projectChecks(methodology)];
  return escalateIfChecksChanged(
    roleAuthority,
    files,
    checks,
    checksOfDefaultProfileOnly(methodology, feature, edge),
  );
}

/** Failing checks that a person cannot override. None for a task, or if the project is not configured. */
export function failingProgramChecks(view: DecisionView, judged: JudgedResult, evaluators: Evaluators) {
  const { failing } = evaluateConvergence(view, judged, evaluators);
  return failing.filter(isProgramCheck).map(nameAndMessage);
}

/**
 * The failing program checks of the candidate under review, whose evidence may have become void since the submission. None
 * unless the policy demands verified evidence.
 */
export function unverifiedChecks(view: DecisionView, subject: string): readonly FailingCheck[] {
  const { gate, generation } = view.head(subject);
  if (view.policy.evidence !== 'verified' || gate === null || gate.candidate === null) return [];
  const { sha256, evidence } = gate.candidate;
  return failingProgramChecks(view, { subject, generation, sha256 }, evidence?.evaluators);
}

interface TypedCheck extends FailingCheck {
  readonly type: EffectiveCheck['type'] | null;
}

const isProgramCheck = ({ type }: TypedCheck): boolean => type === 'deterministic';

const nameAndMessage = ({ name, says }: TypedCheck): FailingCheck => ({ name, says });

/**
 * The required checks that a result fails, and whether a person must review it. Tasks have no required checks, and neither
 * have edges in a project that is not configured.
 */
function evaluateConvergence(
  view: DecisionView,
  judged: JudgedResult,
  evaluators: Evaluators,
): { failing: TypedCheck[]; needs_human_review: boolean } {
  const { methodology } = view;
  const { subject } = judged;
  if (methodology === null || subjectKindOf(subject) !== 'edge')
    return { failing: [], needs_human_review: false };
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const feature = view.feature(feature_id);
  if (feature === null) {
    const says = `Feature ${feature_id} has no file, so its required checks are unknown. Write features/active/${feature_id}.yml and run gen init again.`;
    return { failing: [{ name: 'feature_vector', says, type: 'deterministic' }], needs_human_review: false };
  }
  const checks = effectiveChecklist(methodology, feature, edge);
  const details = (evaluators?.details ?? []) as readonly ReportedCheck[];
  const typeOf = (name: string) => checks.find((check) => check.name === name)?.type ?? null;
  const isVerified = view.policy.evidence === 'verified';
  const verified = isVerified ? verifiedOutcomesOf(view, judged, checks) : null;
  // Under `verified`, only what a runner has signed counts for a deterministic check, not what the agent reports.
  const countedDetails =
    verified === null ? details : details.filter(({ name }) => typeOf(name) !== 'deterministic');
  const { failing, human_checks } = judgeConvergence(checks, [
    ...countedDetails,
    ...(verified?.outcomes ?? []),
  ]);
  const notPassedTextOf = (name: string): string | undefined => verified?.notPassedTexts.get(name);
  return {
    failing: failing.map(({ name, says }) => ({
      name,
      says: notPassedTextOf(name) ?? says,
      type: typeOf(name),
    })),
    needs_human_review: human_checks.length > 0,
  };
}

/** Evidence stored with the result: always in a configured project, otherwise only if the submission reports some. */
export function evidenceFrom(body: SubmitBody, isConfigured: boolean): ConvergenceEvidence | null {
  if (!isConfigured && !hasEvidence(body)) return null;
  const { evaluators, convergence_type, context_hash } = body;
  const reported = withoutUndefined({ evaluators, convergence_type, context_hash });
  return { iteration: body.iteration ?? 1, convergence_type: 'standard', ...reported };
}

const hasEvidence = ({ evaluators, convergence_type, context_hash }: SubmitBody): boolean =>
  evaluators !== undefined || convergence_type !== undefined || context_hash !== undefined;

export function evidenceProblem(body: SubmitBody, subject: string): Problem | null {
  if (subjectKindOf(subject) === 'edge' || !hasEvidence(body)) return null;
  return fieldProblem(
    'evaluators',
    'accepted only for an edge, like convergence_type and context_hash; omit them for a task',
  );
}

/**
 * Rejects a result if the claim has another agent role than the credential: the result would be recorded as the work of
 * the claim's role. `grant` is the grant that the handle belongs to, even if the claim has ended. If there is none, the
 * rules of claims refuse the result and record its sender.
 */
export function claimedRoleProblem(
  grant: PastGrant | null,
  { agent_role: credentialAgentRole }: Caller,
): Problem | null {
  const fault = claimRoleFault(grant?.agent_role ?? null, credentialAgentRole);
  if (fault === null) return null;
  const next = 'Submit with a credential of that role, or release the claim and claim the work again.';
  return problem('FORBIDDEN', `${fault} ${next}`);
}

/** In a configured project, rejects the role `human` for a caller who may not review. */
export function roleProblem(
  project: Project,
  requests: readonly { readonly body: { readonly agent_role?: string | undefined } }[],
  caller: Caller,
): Problem | null {
  if (caller.may_review || !requests.some(({ body }) => body.agent_role === HUMAN_ROLE)) return null;
  if (project.view().methodology === null) return null;
  const message = 'the role human needs a credential that may review; use the role of an agent';
  return fieldProblem('agent_role', message, 'FORBIDDEN');
}
