import { expect, it } from 'vitest';
import { nextCommandOf } from './run-advice.js';
import type { Run } from './runs.js';

const RUN = {
  run_id: '0199c1de-0000-7000-8000-000000000000',
  task_id: 'REQ-F-A-001#design_code',
  steps: [],
  decision: null,
};
const CANDIDATE = { step: 'construct_candidate', status: 'COMPLETED' } as Run['steps'][number];
const REVIEW = 'gen review --feature REQ-F-A-001 --edge design_code';
const RETRY = `gen runs retry ${RUN.run_id}`;

const adviceFor = (status: Run['status'], reason: string | null = null, steps: Run['steps'] = []) =>
  nextCommandOf({ ...RUN, status, reason, steps });

it('names the review of a candidate that waits for a person', () => {
  expect(adviceFor('WAITING')).toBe(REVIEW);
  expect(adviceFor('ESCALATED', 'NOT_AUTHORISED', [CANDIDATE])).toBe(REVIEW);
  expect(adviceFor('ESCALATED', 'STEP_FAILED', [CANDIDATE])).toBe(REVIEW);
});

it('names the retry of a run that has no candidate to review', () => {
  expect(adviceFor('ESCALATED', 'STEP_FAILED')).toBe(RETRY);
  expect(adviceFor('ESCALATED', 'BUDGET_SPENT')).toBe(RETRY);
  expect(adviceFor('ESCALATED', 'BASE_DIFFERS', [CANDIDATE])).toBe(RETRY);
  const failed = { ...CANDIDATE, status: 'FAILED' } as const;
  expect(adviceFor('ESCALATED', 'STEP_FAILED', [failed])).toBe(RETRY);
  expect(adviceFor('FAILED', 'States.Timeout')).toBe(RETRY);
});

it('names the command that continues after the decision', () => {
  const adviceAfterDecision = (status: Run['status'], reason: string | null, decision: string) =>
    nextCommandOf({ ...RUN, status, reason, decision, steps: [CANDIDATE] });
  expect(adviceAfterDecision('WAITING', null, 'APPROVED')).toBe(`gen iterate ${RUN.task_id}`);
  expect(adviceAfterDecision('ESCALATED', 'STUCK', 'CHANGES_REQUESTED')).toBe(`gen iterate ${RUN.task_id}`);
  expect(adviceAfterDecision('ESCALATED', 'NOT_AUTHORISED', 'APPROVED')).toBeNull();
  expect(adviceAfterDecision('ESCALATED', 'STEP_FAILED', 'APPROVED')).toBe(`gen iterate ${RUN.task_id}`);
  expect(adviceAfterDecision('ESCALATED', 'NOT_AUTHORISED', 'REJECTED')).toContain('gen task unhold');
  expect(adviceAfterDecision('ESCALATED', 'STUCK', 'REJECTED')).toContain('gen task unhold');
});

it('names the command that lifts a hold, helps a stuck edge, or executes a requested run', () => {
  expect(adviceFor('ESCALATED', 'REJECTED', [CANDIDATE])).toBe(
    `gen task unhold ${RUN.task_id} --reason TEXT`,
  );
  expect(adviceFor('ESCALATED', 'STUCK', [CANDIDATE])).toContain('gen spawn --type discovery');
  expect(adviceFor('REQUESTED')).toBe(`gen iterate ${RUN.task_id}`);
  expect(adviceFor('CONVERGED')).toBeNull();
});
