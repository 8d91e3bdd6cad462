import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../events/envelope.js';
import { NO_COST } from './check-outcome.js';
import { isEnforcedRule, RUN_RULES, RunLogChecker, type RunRule } from './run-log-checker.js';

const SHA = 'a'.repeat(64);
const EDGE = 'REQ-F-A#design_code';
const [ONE, TWO] = ['0199c1de-0000-7000-8000-000000000001', '0199c1de-0000-7000-8000-000000000002'];

type LoggedEvent = Pick<EventEnvelope, 'event_type' | 'payload'> & Partial<EventEnvelope>;

const runStarted = (run_id = ONE, more: Partial<EventEnvelope> = {}): LoggedEvent => ({
  event_type: 'run_started',
  payload: {
    ...{ run_id, workflow_type: 'STANDARD', machine_sha256: SHA, config_sha256: SHA },
    machine: { bucket: '', key: SHA, version: SHA },
  },
  ...more,
});
const stepCompleted = (step = 'construct_candidate', more: Partial<EventEnvelope> = {}): LoggedEvent => ({
  event_type: 'run_step_completed',
  payload: {
    ...{ run_id: ONE, step, iteration: 1, input_sha256: SHA },
    ...{ attempt: 1, duration_ms: 1, output: {} },
  },
  ...more,
});
const runEnded = (status = 'ESCALATED', run_id = ONE): LoggedEvent => ({
  event_type: 'run_ended',
  payload: { run_id, status, reason: null, says: '', iterations: 1, spent: NO_COST },
});
const requested: LoggedEvent = { event_type: 'run_requested', payload: { run_id: ONE, retry_of: null } };
const accepted: LoggedEvent = { event_type: 'edge_converged', payload: { result_sha256: SHA } };
const reset: LoggedEvent = { event_type: 'edge_reset', payload: {} };

function violationsOf(...events: LoggedEvent[]) {
  const checker = new RunLogChecker();
  return events.flatMap((event, at) =>
    checker.checkEvent({
      ...{ event_id: `e-${at}`, timestamp: '', tenant_id: 'acme', project_id: 'shop', agent_id: 'engine' },
      ...{ subject: EDGE, generation: 2, position: at + 1 },
      ...event,
    }),
  );
}
const rulesIn = (...events: LoggedEvent[]): RunRule[] => violationsOf(...events).map(({ rule }) => rule);

describe('a log of runs', () => {
  it.each([
    [
      'a converged run',
      [requested, runStarted(), stepCompleted(), accepted, runEnded('CONVERGED'), stepCompleted('promote')],
    ],
    [
      'an escalated run, and one after it',
      [runStarted(), stepCompleted(), runEnded(), runStarted(TWO), runEnded('FAILED', TWO)],
    ],
    ['a request that was cancelled', [requested, runEnded('CANCELLED'), runStarted(TWO)]],
    ['a run that was taken over', [runStarted(), stepCompleted('a'), stepCompleted('b', { generation: 3 })]],
    ['a run that failed after its result was reset', [runStarted(), accepted, reset, runEnded('FAILED')]],
    ['events without a subject', [{ ...stepCompleted(), subject: undefined } as unknown as LoggedEvent]],
  ])('finds no violation in %s', (_, events) => {
    expect(rulesIn(...events)).toEqual([]);
  });

  it.each<[RunRule, string, LoggedEvent[]]>([
    ['RUN-01', 'a late step of an old executor', [runStarted(), stepCompleted('a', { generation: 1 })]],
    ['RUN-02', 'convergence without a result', [runStarted(), runEnded('CONVERGED')]],
    [
      'RUN-02',
      'convergence by a result from before the run',
      [accepted, reset, runStarted(), runEnded('CONVERGED')],
    ],
    [
      'RUN-03',
      'an escalation although a result is accepted',
      [runStarted(), accepted, runEnded('ESCALATED')],
    ],
    ['RUN-04', 'a second end', [runStarted(), runEnded(), runEnded('FAILED')]],
    ['RUN-04', 'a second start', [runStarted(), runStarted()]],
    ['RUN-04', 'a start after the end', [runStarted(), runEnded(), runStarted()]],
    ['RUN-05', 'two started runs of an edge', [runStarted(), runStarted(TWO)]],
    ['RUN-06', 'a step that was completed twice', [runStarted(), stepCompleted(), stepCompleted()]],
    ['RUN-07', 'a step after the end', [runStarted(), runEnded(), stepCompleted()]],
    ['RUN-08', 'a step before the start', [requested, stepCompleted()]],
    ['RUN-08', 'an event on another edge', [runStarted(), { ...runEnded(), subject: 'REQ-F-B#design_code' }]],
  ])('finds the violation %s in %s', (rule, _, events) => {
    const violations = violationsOf(...events);
    expect(violations).toMatchObject([{ rule, run_id: expect.any(String) }]);
    expect(violations[0]?.says).toContain(`position ${events.length}: ${events.at(-1)?.event_type} of run`);
    expect(violations[0]?.says).toContain('recorded by engine');
    expect(violations[0]?.says).toContain(RUN_RULES[rule]);
  });

  it('is damaged only if it breaks a rule that the coordinator enforces', () => {
    const enforced = (Object.keys(RUN_RULES) as RunRule[]).filter(isEnforcedRule);
    expect(enforced).toEqual(['RUN-01', 'RUN-02']);
  });
});
