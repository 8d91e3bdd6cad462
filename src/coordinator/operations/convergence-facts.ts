import { claimRoleFault } from '../../core/agent-role.js';
import type { PastGrant, SubmitFacts } from '../../core/claims/commands.js';
import type { ConvergenceEvidence, Head } from '../../core/claims/head.js';
import { HUMAN_ROLE } from '../../core/claims/human-approval.js';
import type { FailingCheck, SubmitBody } from '../../core/contract/claims.js';
import type { EffectiveCheck } from '../../core/contract/tasks.js';
import { checkAuthority } from '../../core/methodology/definition/authority.js';
import { effectiveChecklist } from '../../core/methodology/definition/checklist.js';
import { judgeConvergence } from '../../core/methodology/definition/convergence.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Project } from '../queue/project.js';
import { fieldProblem, type Problem, problem } from '../wire/problem.js';

type Evaluators = ConvergenceEvidence['evaluators'];

/** What a submission reports about its own convergence. */
interface ReportedConvergence {
  readonly evidence: ConvergenceEvidence | undefined;
  /** Paths that the result changes, relative to the project's root. */
  readonly files: readonly string[];
  readonly caller: Caller;
}

/**
 * The methodology's requirements for this result. The role comes from the grant, not from the submission; a claim
 * without a role has the credential's.
 */
export function convergenceFacts(
  view: DecisionView,
  head: Head,
  reported: ReportedConvergence,
): Pick<SubmitFacts, 'authority' | 'convergence'> {
  const { methodology } = view;
  if (subjectKindOf(head.subject) !== 'edge') return { authority: 'granted' };
  const { edge = '' } = subjectKeys(head.subject);
  const claimedRole = head.claim?.agent_role ?? null;
  const is_human = claimedRole === HUMAN_ROLE && reported.caller.may_review;
  // In an unconfigured project any agent can claim the role `human`,
  // so the role counts only for a caller who may review.
  const agent_role =
    claimedRole === HUMAN_ROLE && !is_human ? null : (claimedRole ?? reported.caller.agent_role);
  const authority = checkAuthority(methodology, { edge, agent_role, files: reported.files, is_human });
  const authorityDetails = { authority_reason: authority.reason, authority_paths: authority.paths ?? [] };
  if (methodology === null && authority.verdict === 'granted') return { authority: 'granted' };
  const evaluators = reported.evidence?.evaluators;
  const { failing, needs_human } = evaluateConvergence(view, head.subject, evaluators);
  return {
    authority: authority.verdict,
    convergence: {
      // A human may override every failing check except those that a program decides.
      failing: (is_human ? failing.filter(isProgramCheck) : failing).map(nameAndMessage),
      needs_human: needs_human && !is_human,
      ...authorityDetails,
    },
  };
}

/** Failing checks that a human cannot override, by the reported evaluators. Empty if the project is not configured. */
export function failingProgramChecks(view: DecisionView, subject: string, evaluators: Evaluators) {
  const { failing } = evaluateConvergence(view, subject, evaluators);
  return failing.filter(isProgramCheck).map(nameAndMessage);
}

interface TypedCheck extends FailingCheck {
  readonly type: EffectiveCheck['type'] | null;
}

const isProgramCheck = ({ type }: TypedCheck): boolean => type === 'deterministic';

const nameAndMessage = ({ name, says }: TypedCheck): FailingCheck => ({ name, says });

/** Nothing is required of a task, nor in a project that is not configured. */
function evaluateConvergence(
  view: DecisionView,
  subject: string,
  evaluators: Evaluators,
): { failing: TypedCheck[]; needs_human: boolean } {
  const { methodology } = view;
  if (methodology === null || subjectKindOf(subject) !== 'edge') return { failing: [], needs_human: false };
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const vector = view.feature(feature_id);
  if (vector === null) {
    const says = `Feature ${feature_id} has no vector, so its required checks are unknown. Write features/active/${feature_id}.yml and run gen init again.`;
    return { failing: [{ name: 'feature_vector', says, type: 'deterministic' }], needs_human: false };
  }
  const checks = effectiveChecklist(methodology, vector, edge);
  const details = (evaluators?.details ?? []) as Parameters<typeof judgeConvergence>[1];
  const { failing, human } = judgeConvergence(checks, details);
  const typeOf = (name: string) => checks.find((check) => check.name === name)?.type ?? null;
  return {
    failing: failing.map((check) => ({ ...check, type: typeOf(check.name) })),
    needs_human: human.length > 0,
  };
}

/** Evidence stored with the result: always in a configured project, otherwise only if the submission reports some. */
export function evidenceFrom(body: SubmitBody, configured: boolean): ConvergenceEvidence | null {
  const { evaluators, convergence_type, context_hash } = body;
  const reported = withoutUndefined({ evaluators, convergence_type, context_hash });
  if (!configured && Object.keys(reported).length === 0) return null;
  return { iteration: body.iteration ?? 1, convergence_type: 'standard', ...reported };
}

export function evidenceProblem(body: SubmitBody, subject: string): Problem | null {
  if (subjectKindOf(subject) === 'edge' || evidenceFrom(body, false) === null) return null;
  return fieldProblem(
    'evaluators',
    'accepted only for an edge, like convergence_type and context_hash; omit them for a task',
  );
}

/**
 * Rejects a result for a claim in another agent role than the credential's: it would be recorded as the work of that
 * role. `grant`: the one that the handle belongs to, also if it has ended. Without one the rules of claims refuse the
 * result, and record its sender.
 */
export function claimedRoleProblem(grant: PastGrant | null, { agent_role: bound }: Caller): Problem | null {
  const fault = claimRoleFault(grant?.agent_role ?? null, bound);
  if (fault === null) return null;
  const next = 'Submit with a credential of that role, or release the claim and claim the work again.';
  return problem('FORBIDDEN', `${fault} ${next}`);
}

/** Rejects the role `human` for a caller who may not review. */
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
