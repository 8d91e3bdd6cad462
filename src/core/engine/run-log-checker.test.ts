import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../events/envelope.js';
import { NO_COST } from './check-outcome.js';
import { isEnforcedRule, RUN_RULES, RunLogChecker, type RunRule } from './run-log-checker.js';

const SHA = 'a'.repeat(64);
const EDGE = 'REQ-F-A#design_code';
const [ONE, TWO] = ['0199c1de-0000-7000-8000-000000000001', '0199c1de-0000-7000-8000-000000000002'];

type LoggedEvent = Pick<EventEnvelope, 'event_type' | 'payload'> & Partial<EventEnvelope>;

const started = (run_id = ONE, more: Partial<EventEnvelope> = {}): LoggedEvent => ({
  event_type: 'run_started',
  payload: {
    ...{ run_id, workflow_type: 'STANDARD', machine_sha256: SHA, config_sha256: SHA },
    machine: { bucket: '', key: SHA, version: SHA },
  },
  ...more,
});
const completed = (step = 'construct_candidate', more: Partial<EventEnvelope> = {}): LoggedEvent => ({
  event_type: 'run_step_completed',
  payload: {
    ...{ run_id: ONE, step, iteration: 1, input_sha256: SHA },
    ...{ attempt: 1, duration_ms: 1, output: {} },
  },
  ...more,
});
const ended = (status = 'ESCALATED', run_id = ONE): LoggedEvent => ({
  event_type: 'run_ended',
  payload: { run_id, status, reason: null, says: '', iterations: 1, spent: NO_COST },
});
const requested: LoggedEvent = { event_type: 'run_requested', payload: { run_id: ONE, retry_of: null } };
const accepted: LoggedEvent = { event_type: 'edge_converged', payload: { result_sha256: SHA } };
const reset: LoggedEvent = { event_type: 'edge_reset', payload: {} };

function findingsOf(...events: LoggedEvent[]) {
  const checker = new RunLogChecker();
  return events.flatMap((event, at) =>
    checker.checkEvent({
      ...{ event_id: `e-${at}`, timestamp: '', tenant_id: 'acme', project_id: 'shop', agent_id: 'engine' },
      ...{ subject: EDGE, generation: 2, position: at + 1 },
      ...event,
    }),
  );
}
const rulesIn = (...events: LoggedEvent[]): RunRule[] => findingsOf(...events).map(({ rule }) => rule);

describe('a log of runs', () => {
  it.each([
    [
      'a converged run',
      [requested, started(), completed(), accepted, ended('CONVERGED'), completed('promote')],
    ],
    [
      'an escalated run, and one after it',
      [started(), completed(), ended(), started(TWO), ended('FAILED', TWO)],
    ],
    ['a request that was cancelled', [requested, ended('CANCELLED'), started(TWO)]],
    ['a run that was taken over', [started(), completed('a'), completed('b', { generation: 3 })]],
    ['a run that failed after its result was reset', [started(), accepted, reset, ended('FAILED')]],
    ['events without a subject', [{ ...completed(), subject: undefined } as unknown as LoggedEvent]],
  ])('has no finding about %s', (_, events) => {
    expect(rulesIn(...events)).toEqual([]);
  });

  it.each<[RunRule, string, LoggedEvent[]]>([
    ['RUN-01', 'a late step of an old executor', [started(), completed('a', { generation: 1 })]],
    ['RUN-02', 'convergence without a result', [started(), ended('CONVERGED')]],
    [
      'RUN-02',
      'convergence by a result from before the run',
      [accepted, reset, started(), ended('CONVERGED')],
    ],
    ['RUN-03', 'an escalation although a result is accepted', [started(), accepted, ended('ESCALATED')]],
    ['RUN-04', 'a second end', [started(), ended(), ended('FAILED')]],
    ['RUN-04', 'a second start', [started(), started()]],
    ['RUN-04', 'a start after the end', [started(), ended(), started()]],
    ['RUN-05', 'two started runs of an edge', [started(), started(TWO)]],
    ['RUN-06', 'a step that was completed twice', [started(), completed(), completed()]],
    ['RUN-07', 'a step after the end', [started(), ended(), completed()]],
    ['RUN-08', 'a step before the start', [requested, completed()]],
    ['RUN-08', 'an event on another edge', [started(), { ...ended(), subject: 'REQ-F-B#design_code' }]],
  ])('has the finding %s about %s', (rule, _, events) => {
    const found = findingsOf(...events);
    expect(found).toMatchObject([{ rule, run_id: expect.any(String) }]);
    expect(found[0]?.says).toContain(`position ${events.length}: ${events.at(-1)?.event_type} of run`);
    expect(found[0]?.says).toContain('recorded by engine');
    expect(found[0]?.says).toContain(RUN_RULES[rule]);
  });

  it('breaks only the rules that the coordinator enforces', () => {
    const enforced = (Object.keys(RUN_RULES) as RunRule[]).filter(isEnforcedRule);
    expect(enforced).toEqual(['RUN-01', 'RUN-02']);
  });
});
