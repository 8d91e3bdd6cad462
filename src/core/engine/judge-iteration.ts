import {
  type EffectiveCheck,
  FAILING_CHECKS_MAX,
  FAILING_TEXT_MAX,
  type FailingCheck,
} from '../contract/checks.js';
import { type AuthorityDecision, REVIEW_CAUSES } from '../methodology/definition/authority.js';
import { judgeConvergence } from '../methodology/definition/convergence.js';
import type { Budget } from '../methodology/definition/engine-settings.js';
import { type SpentByScope, spentLimitText } from './budget.js';
import type { CheckOutcome } from './check-outcome.js';
import { omittedChecksText } from './guarded-check-files.js';
import type { ESCALATION_REASONS, HumanDecision, IterationVerdict } from './run-data.js';
import { truncatedSays } from './says.js';

export type EscalationCode = (typeof ESCALATION_REASONS)[number];
type Outcome = Pick<CheckOutcome, 'name' | 'type' | 'result'>;

export interface IterationFacts {
  /** The checks of the plan: a required one without an outcome has not passed. */
  readonly checks: readonly EffectiveCheck[];
  /** Outcomes of this iteration, by programs and models. A person's decision is `human`. */
  readonly outcomes: readonly Outcome[];
  /** Names of the failing checks of each earlier iteration, oldest first, as `failingCheckNames` returned them. */
  readonly earlier_failing: readonly (readonly string[])[];
  /** How the review of the candidate ended; null if there was no review. */
  readonly human: HumanDecision | null;
  readonly authority: AuthorityDecision;
  readonly budget: Budget;
  readonly spent: SpentByScope;
  /** From 1. */
  readonly iteration: number;
  readonly max_iterations: number;
  readonly stuck_threshold: number;
}

/**
 * Decides what follows an iteration, in this order: converged; passed without authority to converge; rejected or not
 * answered by a person; budget spent; last iteration; stuck; another iteration. If a person requests changes, another
 * iteration follows within the same limits.
 */
export function judgeIteration(facts: IterationFacts): Omit<IterationVerdict, 'findings'> {
  const open = openChecks(facts);
  const delta = open.length;
  const verdict = (outcome: IterationVerdict['outcome'], reason: EscalationCode | null, says: string) => ({
    outcome,
    reason,
    says: truncatedSays(says),
    delta,
    next_iteration: facts.iteration + 1,
  });
  if (delta === 0) {
    // After an approval the agent needs no authority: the person who approved has it.
    if (isAuthorised(facts.authority) || facts.human?.decision === 'APPROVED')
      return verdict('CONVERGED', null, 'All required checks have passed.');
    return verdict('ESCALATE', 'NOT_AUTHORISED', notAuthorisedText(facts.authority));
  }
  const escalation = decisionEscalation(facts.human) ?? escalationByLimit(facts);
  if (escalation !== null) return verdict('ESCALATE', escalation.reason, escalation.says);
  return verdict('LOOP', null, `Not passed: ${open.join(', ')}.`);
}

/** Sorted names of the required checks that a program or a model has judged in this iteration, and that have not passed. */
export function failingCheckNames(
  checks: readonly EffectiveCheck[],
  outcomes: readonly Outcome[],
): readonly string[] {
  const judged = new Set(automaticOutcomes(outcomes).map(({ name }) => name));
  const { failing } = judgeConvergence(checks, automaticOutcomes(outcomes));
  return failing
    .map(({ name }) => name)
    .filter((name) => judged.has(name))
    .sort();
}

/** What keeps the candidate from an approval: the first required checks of programs and models that have not passed. */
export function failingChecks(
  checks: readonly EffectiveCheck[],
  outcomes: readonly (Outcome & Pick<CheckOutcome, 'says'>)[],
): readonly FailingCheck[] {
  const shortenedText = (text: string): string => text.slice(0, FAILING_TEXT_MAX);
  return judgeConvergence(checks, automaticOutcomes(outcomes))
    .failing.slice(0, FAILING_CHECKS_MAX)
    .map(({ name, says }) => {
      const reported = outcomes.find((outcome) => outcome.name === name)?.says;
      return { name: shortenedText(name), says: shortenedText(reported ? `${says} ${reported}` : says) };
    });
}

const automaticOutcomes = (outcomes: readonly Outcome[]): readonly Outcome[] =>
  outcomes.filter(({ type }) => type !== 'human');

/** Names of the required checks that have not passed, human ones last. Never empty after a review without an approval. */
function openChecks({ checks, outcomes, human }: IterationFacts): readonly string[] {
  const { failing, human_checks: humanChecks } = judgeConvergence(checks, automaticOutcomes(outcomes));
  const names = failing.map(({ name }) => name);
  if (human?.decision === 'APPROVED') return names;
  // A decision against the candidate counts even if no check requires a person.
  const isRefused = human !== null && humanChecks.length === 0;
  return [...names, ...humanChecks, ...(isRefused ? ['human_approval'] : [])];
}

const isAuthorised = ({ decision }: AuthorityDecision): boolean =>
  decision === 'granted' || decision === 'warn';

const AUTHORITY_TEXTS: Readonly<Record<NonNullable<AuthorityDecision['reason']>, string>> = {
  outside_role_authority: REVIEW_CAUSES.outside_role_authority,
  spec_mutation: REVIEW_CAUSES.spec_mutation,
  commands_programs: 'the result changes files that configure other programs',
  changes_evaluators: 'the result changes checks or tests',
  omits_checks: omittedChecksText([]),
};

function notAuthorisedText({ reason, paths = [], omitted_checks = [] }: AuthorityDecision): string {
  const ofReason = reason === null ? 'this agent may not converge the edge' : AUTHORITY_TEXTS[reason];
  const cause = reason === 'omits_checks' ? omittedChecksText(omitted_checks) : ofReason;
  const files = paths.length === 0 ? '' : ` (${paths.join(', ')})`;
  return `All required checks have passed, but ${cause}${files}: a person has to decide.`;
}

interface EscalationCause {
  readonly reason: EscalationCode;
  readonly says: string;
}

function decisionEscalation(human: HumanDecision | null): EscalationCause | null {
  if (human?.decision === 'REJECTED') {
    const comment = human.comment.trim();
    return {
      reason: 'REJECTED',
      says: `${human.reviewer} has rejected the candidate${comment ? `: ${comment}` : '.'}`,
    };
  }
  if (human?.decision === 'NO_ANSWER') {
    return { reason: 'NO_ANSWER', says: 'The candidate was not reviewed before the deadline.' };
  }
  return null;
}

function escalationByLimit(facts: IterationFacts): EscalationCause | null {
  const spent = spentLimitText(facts.budget, facts.spent);
  if (spent !== null) return { reason: 'BUDGET_SPENT', says: spent };
  const { iteration, max_iterations } = facts;
  const stuck = stuckText(facts);
  if (iteration >= max_iterations) {
    const says = `Iteration ${iteration} of at most ${max_iterations} has not converged.`;
    return { reason: 'MAX_ITERATIONS', says: stuck === null ? says : `${says} ${stuck}` };
  }
  return stuck === null ? null : { reason: 'STUCK', says: stuck };
}

/** Why the run is stuck: the same checks have failed in each of the last `stuck_threshold` iterations. Null if it is not. */
function stuckText(facts: IterationFacts): string | null {
  const { checks, outcomes, earlier_failing, stuck_threshold } = facts;
  const failing = failingCheckNames(checks, outcomes);
  if (failing.length === 0) return null;
  const earlier = stuck_threshold === 1 ? [] : earlier_failing.slice(1 - stuck_threshold);
  const isStuck =
    earlier.length === stuck_threshold - 1 && earlier.every((names) => isSameSet(names, failing));
  if (!isStuck) return null;
  const times = stuck_threshold === 1 ? 'once' : `${stuck_threshold} times in a row`;
  return `The same checks have failed ${times}: ${failing.join(', ')}.`;
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  const set = new Set(a);
  return set.size === new Set(b).size && b.every((name) => set.has(name));
}
