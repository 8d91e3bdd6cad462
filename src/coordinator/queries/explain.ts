import { isExhausted } from '../../core/claims/generation.js';
import type { LastClaim } from '../../core/claims/head.js';
import { finiteOrNull, holdText, isStale, lapsesAtMs } from '../../core/claims/lease.js';
import { openGateOf } from '../../core/claims/open-gate.js';
import { adviceFor, type ClaimRefusal } from '../../core/contract/codes.js';
import type { Explanation } from '../../core/contract/tasks.js';
import { holderAdvice } from '../../core/engine/holder-advice.js';
import { type LastRun, suspendedAdvice } from '../../core/engine/suspended-advice.js';
import { isoTime } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { SINGLE_AGENT } from '../../core/methodology/single-agent.js';
import { subjectKindOf } from '../../core/subject.js';
import { edgeChecks, explainEvidence } from '../operations/edge-evidence.js';
import { edgeFacts, isSingleAgentProject } from '../operations/edge-facts.js';
import { openDependencies, unknownSubjectText } from '../operations/facts.js';
import type { DecisionView } from '../queue/decision-view.js';

type RefusingRule = { readonly rule: ClaimRefusal; readonly says: string };

interface ExplainRequest {
  /** Number of live claims of the tenant, as the store counts them. */
  readonly liveClaimCount: number;
  /** The caller's session; null if it is not known. */
  readonly sessionId: string | null;
  /** The last run of the edge, which only the advice for suspended work names; null if there is none. */
  readonly lastRun: LastRun | null;
}

/** Why an agent can or cannot claim this work; for an edge, also which evidence its checks lack. */
export function explain(view: DecisionView, subject: string, request: ExplainRequest): Explanation {
  const evidence = (subjectKindOf(subject) === 'edge' ? explainEvidence(view, subject) : null) ?? null;
  const { claim } = view.peekHead(subject);
  const isHeldByCaller = claim !== null && claim.session_id === request.sessionId && view.isLive(subject);
  const explanation = isHeldByCaller
    ? explainOwnClaim(view, subject, claim, evidence, request.lastRun)
    : explainClaim(view, subject, request);
  return evidence === null ? explanation : { ...explanation, evidence };
}

/** What the holder can do next. */
function explainOwnClaim(
  view: DecisionView,
  subject: string,
  claim: LastClaim,
  evidence: Explanation['evidence'] | null,
  last_run: LastRun | null,
): Explanation {
  const head = view.peekHead(subject);
  const { generation } = head;
  const untilMs = finiteOrNull(lapsesAtMs(claim, view.rulesOf(subject)));
  const says = `you hold it under generation ${generation}${endText(untilMs)}`;
  const checks = edgeChecks(view, subject);
  const suspended =
    claim.state === 'SUSPENDED' ? { has_open_gate: openGateOf(head) !== null, last_run } : null;
  const next = holderAdvice({ subject, generation, suspended, checks, evidence });
  const why = [{ rule: 'DENIED_ACTIVE_CLAIM' as const, says }];
  return { task_id: subject, claimable: false, is_held_by_you: true, why, next };
}

/** Lists every rule that keeps an agent from this work, in evaluation order. */
function explainClaim(
  view: DecisionView,
  subject: string,
  { liveClaimCount, lastRun }: ExplainRequest,
): Explanation {
  const unknownText = unknownSubjectText(view, subject);
  const why: RefusingRule[] =
    unknownText === null
      ? refusingRules(view, subject, liveClaimCount)
      : [{ rule: 'UNKNOWN_TASK', says: unknownText }];
  const first = why[0];
  return {
    task_id: subject,
    claimable: first === undefined,
    is_held_by_you: false,
    why: first === undefined ? [{ rule: 'GRANTED', says: 'no rule prevents a claim' }] : why,
    next:
      first === undefined
        ? `Claim it: ${genCommand('task', 'claim', subject)}`
        : adviceOf(view, first.rule, subject, lastRun),
  };
}

/** The advice for a rule. For `UNKNOWN_TASK` it leaves out the subject, which the reason already names. */
function adviceOf(view: DecisionView, rule: ClaimRefusal, subject: string, lastRun: LastRun | null): string {
  if (rule === 'DENIED_ACTIVE_CLAIM') return activeClaimAdvice(view, subject, lastRun);
  return rule === 'UNKNOWN_TASK' ? adviceFor(rule) : adviceFor(rule, subject);
}

function activeClaimAdvice(view: DecisionView, subject: string, lastRun: LastRun | null): string {
  const head = view.peekHead(subject);
  if (head.claim?.state === 'SUSPENDED') return suspendedAdvice(subject, openGateOf(head) !== null, lastRun);
  if (!isStale(head, view.now_ms, view.rulesOf(subject)))
    return 'Claim other work, or retry when this claim has ended.';
  const release = genCommand('task', 'force-release', subject, '--reason', 'TEXT');
  return `Claim other work, or have an admin end the claim: ${release}`;
}

const endText = (expiresAtMs: number | null): string =>
  expiresAtMs === null ? '' : ` until ${isoTime(expiresAtMs)}`;

function refusingRules(view: DecisionView, subject: string, liveClaimCount: number): RefusingRule[] {
  const head = view.head(subject);
  const rules = view.rulesOf(subject);
  const { now_ms } = view;
  const why: RefusingRule[] = [];
  const addRule = (rule: ClaimRefusal, says: string) => why.push({ rule, says });
  if (subjectKindOf(subject) === 'edge' && isSingleAgentProject(view.methodology)) {
    const says = `only ${SINGLE_AGENT.agent_id} can claim it: coordination.mode is single in coordination.yml`;
    addRule('DENIED_SINGLE_AGENT', says);
  }
  if (head.phase === 'COMPLETED') {
    const { result } = head;
    const byWhom = result === null ? '' : ` by ${result.agent_id} under generation ${result.generation}`;
    addRule('DENIED_COMPLETED', `it was completed${byWhom}`);
  }
  const hold = holdText(head, now_ms, rules);
  if (hold !== null) addRule('DENIED_HELD', hold);
  if (view.isLive(subject) && head.claim !== null)
    addRule('DENIED_ACTIVE_CLAIM', describeHolder(view, subject));
  const unfinished = openDependencies(view, subject);
  if (unfinished.length > 0)
    addRule('DENIED_DEPENDENCIES', `it waits for ${unfinished.slice(0, 20).join(', ')}`);
  why.push(...sharedModuleRules(view, subject));
  if (head.retry_at_ms !== null && now_ms < head.retry_at_ms) {
    const error = head.last_error ?? 'no message';
    const retryAt = isoTime(head.retry_at_ms);
    addRule('DENIED_BACKOFF', `its last attempt failed (${error}); it can be claimed again at ${retryAt}`);
  }
  if (isExhausted(head.generation, rules)) {
    const says = `it has had ${head.generation - rules.generation_floor} generations, and max_generations_per_task is ${rules.max_generations_per_task}`;
    addRule('DENIED_LIMIT', says);
  }
  const { max_concurrent_claims: claimsMax } = view.limits;
  if (liveClaimCount >= claimsMax) {
    addRule(
      'DENIED_LIMIT',
      `the tenant has ${liveClaimCount} live claims, and max_concurrent_claims is ${claimsMax}`,
    );
  }
  return why;
}

/** Refusals because of shared modules, if the project enforces that rule, for an agent without claims. */
function sharedModuleRules(view: DecisionView, subject: string): RefusingRule[] {
  const facts = edgeFacts(view, subject, { agent_id: '', agent_role: null });
  if (!facts?.is_overlap_refused) return [];
  return facts.overlapping_claims.map((overlap) => ({
    rule: 'DENIED_PARALLEL',
    says: `${overlap.agent_id} holds ${overlap.subject}, which also touches ${overlap.shared_modules.join(', ')}`,
  }));
}

function describeHolder(view: DecisionView, subject: string): string {
  const { claim, generation } = view.head(subject);
  if (claim === null) return '';
  const holderText = `${claim.agent_id} holds it in session ${claim.session_id} under generation ${generation}`;
  if (claim.state === 'SUSPENDED')
    return openGateOf(view.head(subject)) === null
      ? `${holderText}, and has suspended it without a review`
      : `${holderText}, and waits for a person`;
  if (isStale(view.head(subject), view.now_ms, view.rulesOf(subject))) {
    return `${holderText}, silent since ${isoTime(claim.active_at_ms)}; a person must release it, because stale_policy is hold`;
  }
  const untilMs = finiteOrNull(lapsesAtMs(claim, view.rulesOf(subject)));
  return untilMs === null
    ? `${holderText} until the holder or an operator releases it`
    : `${holderText}${endText(untilMs)}`;
}
