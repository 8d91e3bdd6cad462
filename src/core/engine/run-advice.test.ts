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

const advice = (status: Run['status'], reason: string | null = null, steps: Run['steps'] = []) =>
  nextCommandOf({ ...RUN, status, reason, steps });

it('names the review of a candidate that waits for a person', () => {
  expect(advice('WAITING')).toBe(REVIEW);
  expect(advice('ESCALATED', 'NOT_AUTHORISED', [CANDIDATE])).toBe(REVIEW);
  expect(advice('ESCALATED', 'STEP_FAILED', [CANDIDATE])).toBe(REVIEW);
});

it('names the retry of a run that has no candidate', () => {
  expect(advice('ESCALATED', 'STEP_FAILED')).toBe(RETRY);
  expect(advice('ESCALATED', 'BUDGET_SPENT')).toBe(RETRY);
  expect(advice('ESCALATED', 'BASE_DIFFERS', [CANDIDATE])).toBe(RETRY);
  const failed = { ...CANDIDATE, status: 'FAILED' } as const;
  expect(advice('ESCALATED', 'STEP_FAILED', [failed])).toBe(RETRY);
  expect(advice('FAILED', 'States.Timeout')).toBe(RETRY);
});

it('names the command that continues after the decision', () => {
  const decided = (status: Run['status'], reason: string | null, decision: string) =>
    nextCommandOf({ ...RUN, status, reason, decision, steps: [CANDIDATE] });
  expect(decided('WAITING', null, 'APPROVED')).toBe(`gen iterate ${RUN.task_id}`);
  expect(decided('ESCALATED', 'STUCK', 'CHANGES_REQUESTED')).toBe(`gen iterate ${RUN.task_id}`);
  expect(decided('ESCALATED', 'NOT_AUTHORISED', 'APPROVED')).toBeNull();
  expect(decided('ESCALATED', 'STEP_FAILED', 'APPROVED')).toBe(`gen iterate ${RUN.task_id}`);
  expect(decided('ESCALATED', 'NOT_AUTHORISED', 'REJECTED')).toContain('gen task unhold');
  expect(decided('ESCALATED', 'STUCK', 'REJECTED')).toContain('gen task unhold');
});

it('names what lifts the hold, what helps a stuck edge, and the executor of a request', () => {
  expect(advice('ESCALATED', 'REJECTED', [CANDIDATE])).toBe(`gen task unhold ${RUN.task_id} --reason TEXT`);
  expect(advice('ESCALATED', 'STUCK', [CANDIDATE])).toContain('gen spawn --type discovery');
  expect(advice('REQUESTED')).toBe(`gen iterate ${RUN.task_id}`);
  expect(advice('CONVERGED')).toBeNull();
});
