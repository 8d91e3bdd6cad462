import { describe, expect, it } from 'vitest';
import { NO_COST } from './check-outcome.js';
import { failingCheckNames, type IterationFacts, judgeIteration } from './judge-iteration.js';
import type { HumanDecision } from './run-data.js';
import { buildCheck } from './testing.js';

const CHECKS = [
  buildCheck('tests'),
  buildCheck('reads', 'agent'),
  buildCheck('extra', 'agent', { required: false }),
];
const HUMAN = buildCheck('look', 'human');
type Outcome = IterationFacts['outcomes'][number];
const testsOutcome = (result: Outcome['result']): Outcome => ({
  name: 'tests',
  type: 'deterministic',
  result,
});
const readsOutcome = (result: Outcome['result']): Outcome => ({ name: 'reads', type: 'agent', result });
const PASSED = [testsOutcome('pass'), readsOutcome('pass')];
const humanDecision = (decision: HumanDecision['decision'], comment = ''): HumanDecision => ({
  decision,
  reviewer: 'ada',
  comment,
});
const NOT_AUTHORISED = { decision: 'escalate', reason: 'outside_role_authority' } as const;
const BUDGET = { run: { tokens: 1 } };
const SPENT = {
  run: { ...NO_COST, input_tokens: 1 },
  feature: NO_COST,
  project: NO_COST,
  tenant: NO_COST,
};

const verdictOf = (facts: Partial<IterationFacts>) =>
  judgeIteration({
    checks: CHECKS,
    outcomes: PASSED,
    earlier_failing: [],
    human: null,
    authority: { decision: 'granted', reason: null },
    budget: {},
    spent: SPENT,
    iteration: 1,
    max_iterations: 5,
    stuck_threshold: 3,
    ...facts,
  });

const WITH_HUMAN = { checks: [...CHECKS, HUMAN] };
const FAILED = { outcomes: [testsOutcome('fail')] };
/** The last iteration, stuck, and without budget. */
const AT_EVERY_LIMIT = { budget: BUDGET, iteration: 5, earlier_failing: [['tests'], ['tests']] };

describe('an iteration', () => {
  it.each<[string, Partial<IterationFacts>, string, string | null, number]>([
    ['whose checks have passed', {}, 'CONVERGED', null, 0],
    ['that passes at every limit', AT_EVERY_LIMIT, 'CONVERGED', null, 0],
    [
      'outside the authority of its role, if the project only warns',
      { authority: { ...NOT_AUTHORISED, decision: 'warn' } },
      'CONVERGED',
      null,
      0,
    ],
    [
      'whose optional check fails',
      { outcomes: [...PASSED, { ...readsOutcome('fail'), name: 'extra' }] },
      'CONVERGED',
      null,
      0,
    ],
    ['that a person approves', { ...WITH_HUMAN, human: humanDecision('APPROVED') }, 'CONVERGED', null, 0],
    ['without authority', { authority: NOT_AUTHORISED }, 'ESCALATE', 'NOT_AUTHORISED', 0],
    [
      'outside the authority of its role, if the project rejects it',
      { authority: { ...NOT_AUTHORISED, decision: 'reject' } },
      'ESCALATE',
      'NOT_AUTHORISED',
      0,
    ],
    ['without authority, before it has passed', { ...FAILED, authority: NOT_AUTHORISED }, 'LOOP', null, 2],
    ['that a person rejects', { ...WITH_HUMAN, human: humanDecision('REJECTED') }, 'ESCALATE', 'REJECTED', 1],
    [
      'that a person rejects though no check requires a person',
      { human: humanDecision('REJECTED') },
      'ESCALATE',
      'REJECTED',
      1,
    ],
    [
      'that is rejected at every limit',
      { ...WITH_HUMAN, ...AT_EVERY_LIMIT, human: humanDecision('REJECTED') },
      'ESCALATE',
      'REJECTED',
      1,
    ],
    ['without a review', { ...WITH_HUMAN, human: humanDecision('NO_ANSWER') }, 'ESCALATE', 'NO_ANSWER', 1],
    ['with changes requested', { ...WITH_HUMAN, human: humanDecision('CHANGES_REQUESTED') }, 'LOOP', null, 1],
    [
      'with changes requested in the last iteration',
      { ...WITH_HUMAN, human: humanDecision('CHANGES_REQUESTED'), iteration: 5 },
      'ESCALATE',
      'MAX_ITERATIONS',
      1,
    ],
    ['that a person has not seen', WITH_HUMAN, 'LOOP', null, 1],
    ['that fails', FAILED, 'LOOP', null, 2],
    [
      'whose program did not run to its end',
      { outcomes: [testsOutcome('error'), readsOutcome('pass')] },
      'LOOP',
      null,
      1,
    ],
    [
      'whose program was skipped',
      { outcomes: [testsOutcome('skip'), readsOutcome('pass')] },
      'LOOP',
      null,
      1,
    ],
    ['whose agent check was never made', { outcomes: [testsOutcome('pass')] }, 'LOOP', null, 1],
    [
      'whose agent check is pending',
      { outcomes: [testsOutcome('pass'), readsOutcome('pending')] },
      'LOOP',
      null,
      1,
    ],
    ['of an edge without checks', { checks: [], outcomes: [] }, 'LOOP', null, 1],
    ['without budget', { ...FAILED, budget: BUDGET }, 'ESCALATE', 'BUDGET_SPENT', 2],
    ['that fails at every limit', { ...FAILED, ...AT_EVERY_LIMIT }, 'ESCALATE', 'BUDGET_SPENT', 2],
    ['that is the last', { ...FAILED, iteration: 5 }, 'ESCALATE', 'MAX_ITERATIONS', 2],
    [
      'that is the last and stuck',
      { ...FAILED, ...AT_EVERY_LIMIT, budget: {} },
      'ESCALATE',
      'MAX_ITERATIONS',
      2,
    ],
    [
      'that is stuck',
      { ...FAILED, iteration: 3, earlier_failing: [['tests'], ['tests']] },
      'ESCALATE',
      'STUCK',
      2,
    ],
  ])('%s gets the expected verdict', (_, facts, outcome, reason, delta) => {
    const iteration = facts.iteration ?? 1;
    expect(verdictOf(facts)).toMatchObject({ outcome, reason, delta, next_iteration: iteration + 1 });
  });

  it('says what is missing, and both limits if both are reached', () => {
    expect(verdictOf(FAILED).says).toBe('Not passed: tests, reads.');
    expect(verdictOf({ ...FAILED, ...AT_EVERY_LIMIT, budget: {} }).says).toBe(
      'Iteration 5 of at most 5 has not converged. The same checks have failed 3 times in a row: tests.',
    );
    expect(verdictOf({ ...WITH_HUMAN, human: humanDecision('REJECTED', 'Not this way.') }).says).toBe(
      'ada has rejected the candidate: Not this way.',
    );
    expect(
      verdictOf({ authority: { decision: 'escalate', reason: 'commands_programs', paths: ['.npmrc'] } }).says,
    ).toBe(
      'All required checks have passed, but the result changes files that configure other programs (.npmrc): a person has to decide.',
    );
    expect(
      verdictOf({ ...WITH_HUMAN, human: humanDecision('REJECTED', 'x'.repeat(4000)) }).says,
    ).toHaveLength(2000);
  });
});

describe('whether a run is stuck', () => {
  const both = [testsOutcome('fail'), readsOutcome('fail')];
  it.each<[string, Outcome[], string[][], number, boolean]>([
    ['with too few iterations', [testsOutcome('fail')], [['tests']], 3, false],
    ['with the same checks three times', [testsOutcome('fail')], [['tests'], ['tests']], 3, true],
    [
      'in any order',
      both,
      [
        ['tests', 'reads'],
        ['reads', 'tests'],
      ],
      3,
      true,
    ],
    ['with more checks than before', both, [['tests'], ['tests']], 3, false],
    [
      'with fewer checks than before',
      [testsOutcome('fail')],
      [
        ['reads', 'tests'],
        ['reads', 'tests'],
      ],
      3,
      false,
    ],
    ['with another check between', [testsOutcome('fail')], [['tests'], ['reads'], ['tests']], 3, false],
    ['after another check', [testsOutcome('fail')], [['reads'], ['tests'], ['tests']], 3, true],
    ['after one iteration, if the threshold is 1', [testsOutcome('fail')], [['reads']], 1, true],
    ['without failing checks', [testsOutcome('pass')], [[], []], 3, false],
  ])('is decided %s: %#', (_, outcomes, earlier_failing, stuck_threshold, isStuck) => {
    const { reason } = verdictOf({ outcomes, earlier_failing, stuck_threshold, iteration: 4 });
    expect(reason).toBe(isStuck ? 'STUCK' : null);
  });

  it('is decided by checks that were made, not by a person who requests changes each time', () => {
    const facts = {
      ...WITH_HUMAN,
      human: humanDecision('CHANGES_REQUESTED'),
      earlier_failing: [[], []],
      iteration: 3,
    };
    expect(verdictOf(facts)).toMatchObject({ outcome: 'LOOP', says: 'Not passed: look.' });
    expect(failingCheckNames([...CHECKS, HUMAN], [readsOutcome('fail'), testsOutcome('error')])).toEqual([
      'reads',
      'tests',
    ]);
    expect(failingCheckNames([...CHECKS, HUMAN], [testsOutcome('fail')])).toEqual(['tests']);
    const human: Outcome = { name: 'look', type: 'human', result: 'fail' };
    expect(failingCheckNames([...CHECKS, HUMAN], [...PASSED, human])).toEqual([]);
  });
});
