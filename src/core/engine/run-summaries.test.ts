import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../events/envelope.js';
import { addCost, type Cost, NO_COST } from './check-outcome.js';
import { emptyRunsState, evolveRuns, openRunOf } from './run-summaries.js';
import { foldRuns } from './runs.js';

const SHA = 'a'.repeat(64);
const RUNS = [1, 2, 3].map((at) => `0199c1de-0000-7000-8000-00000000000${at}`) as [string, string, string];
const EDGES = ['REQ-F-A-001#design_code', 'REQ-F-B-001#design_code'] as const;
const MACHINE = { bucket: '', key: 'machine', version: SHA };

type RunEvent = Pick<EventEnvelope, 'event_type' | 'payload'> & { subject?: string; generation?: number };

const eventOf = ({ subject = EDGES[0], ...given }: RunEvent, at: number): EventEnvelope => ({
  event_id: `e-${at}`,
  timestamp: new Date(at * 1000).toISOString(),
  tenant_id: 'acme',
  project_id: 'shop',
  agent_id: 'engine',
  subject,
  position: at + 1,
  ...given,
});
const eventsOf = (...given: RunEvent[]): EventEnvelope[] => given.map(eventOf);

const runRequested = (run_id = RUNS[0], retry_of: string | null = null): RunEvent => ({
  event_type: 'run_requested',
  payload: { run_id, retry_of },
});
const runStarted = (run_id = RUNS[0]): RunEvent => ({
  event_type: 'run_started',
  generation: 1,
  payload: {
    run_id,
    workflow_type: 'STANDARD',
    machine: MACHINE,
    machine_sha256: SHA,
    config_sha256: SHA,
  },
});
const runEnded = (status: string, run_id = RUNS[0]): RunEvent => ({
  event_type: 'run_ended',
  payload: { run_id, status, reason: null, says: status, iterations: 1, spent: NO_COST },
});
const stepFields = { run_id: RUNS[0], step: 'construct_candidate', iteration: 1, input_sha256: SHA };
const cost: Cost = { input_tokens: 3, output_tokens: 2, usd: 0.5, seconds: 1 };
const stepCompleted = (run_id = RUNS[0]): RunEvent => ({
  event_type: 'run_step_completed',
  generation: 1,
  payload: { ...stepFields, run_id, attempt: 1, duration_ms: 5, output: {}, cost },
});
const failed: RunEvent = {
  event_type: 'run_step_failed',
  generation: 1,
  payload: { ...stepFields, attempt: 1, duration_ms: 5, error: 'Engine.Failed', cause: '', cost },
};
const reviewCompleted = (decision: string): RunEvent => ({
  event_type: 'review_completed',
  generation: 1,
  payload: { decision, reviewer: 'sam' },
});
const accepted: RunEvent = { event_type: 'edge_converged', generation: 1, payload: {} };

const stateOf = (events: readonly EventEnvelope[]) => {
  const state = emptyRunsState();
  for (const event of events) evolveRuns(state, event);
  return state;
};

describe('a requested run', () => {
  it('is REQUESTED until an executor starts it under the same id', () => {
    const [waiting] = foldRuns(eventsOf(runRequested(RUNS[0], RUNS[1])));
    expect(waiting).toMatchObject({
      status: 'REQUESTED',
      started_at: null,
      retry_of: RUNS[1],
      machine: null,
    });
    const [running] = foldRuns(eventsOf(runRequested(), runStarted()));
    expect(running).toMatchObject({ status: 'RUNNING', requested_by: 'engine', machine: MACHINE });
  });

  it('is ended by a cancellation, after which it cannot be started', () => {
    const runs = foldRuns(eventsOf(runRequested(), runEnded('CANCELLED'), runStarted(), stepCompleted()));
    expect(runs).toMatchObject([{ status: 'CANCELLED', started_at: null, agent_id: null }]);
  });

  it('waits until the started run of its edge has ended', () => {
    const runs = foldRuns(eventsOf(runRequested(RUNS[0]), runRequested(RUNS[2]), runStarted(RUNS[1])));
    expect(openRunOf(runs)?.run_id).toBe(RUNS[1]);
    expect(openRunOf(runs.slice(0, 2))?.run_id).toBe(RUNS[0]);
    expect(openRunOf([])).toBeUndefined();
  });
});

describe('the summaries of runs', () => {
  it('count the cost of every attempt once, failed ones included', () => {
    const { spent, spent_by_feature, runs } = stateOf(eventsOf(runStarted(), failed, stepCompleted()));
    expect(spent).toEqual(addCost(cost, cost));
    expect(spent_by_feature.get('REQ-F-A-001')).toEqual(spent);
    expect(runs.get(RUNS[0])?.spent).toEqual(spent);
  });

  it('ignore events that another edge reports about the run', () => {
    const events = eventsOf(runStarted(), { ...runEnded('CONVERGED'), subject: EDGES[1] }, stepCompleted());
    expect(stateOf(events).runs.get(RUNS[0])).toMatchObject({ status: 'RUNNING', task_id: EDGES[0] });
  });

  it('list the open runs of an edge, and count all its runs', () => {
    const { edges } = stateOf(eventsOf(runRequested(), runEnded('CANCELLED'), runRequested(RUNS[1])));
    expect(edges.get(EDGES[0])).toEqual({
      count: 2,
      last_run_id: RUNS[1],
      last_started_run_id: null,
      open: new Set([RUNS[1]]),
    });
  });

  it('contain who decided on the candidate of an escalated run, when, and when the edge converged', () => {
    const events = eventsOf(
      runStarted(),
      runEnded('ESCALATED'),
      reviewCompleted('APPROVED'),
      accepted,
      stepCompleted(),
    );
    const decided = { status: 'ESCALATED', decision: 'APPROVED', decided_by: 'sam' };
    const times = { decided_at: events[2]?.timestamp, edge_converged_at: events[3]?.timestamp };
    expect(stateOf(events).runs.get(RUNS[0])).toMatchObject({ ...decided, ...times });
    expect(foldRuns(events)).toMatchObject([{ ...decided, ...times }]);
    const rejected = stateOf(
      eventsOf(runStarted(), runEnded('ESCALATED'), reviewCompleted('REJECTED')),
    ).runs.get(RUNS[0]);
    expect(rejected).toMatchObject({ decision: 'REJECTED', decided_by: 'sam', edge_converged_at: null });
  });

  it('assign a decision to the run that made the candidate, not to a request that came before the decision', () => {
    const events = eventsOf(
      runStarted(),
      runEnded('ESCALATED'),
      runRequested(RUNS[1]),
      reviewCompleted('APPROVED'),
    );
    const { runs } = stateOf(events);
    expect(RUNS.slice(0, 2).map((id) => runs.get(id)?.decision)).toEqual(['APPROVED', null]);
  });

  const run = fc.constantFrom(...RUNS);
  const anyCost = fc.record({
    input_tokens: fc.nat(1000),
    output_tokens: fc.nat(1000),
    usd: fc.oneof(fc.constant(null), fc.double({ min: 0, max: 9, noNaN: true })),
    seconds: fc.double({ min: 0, max: 9, noNaN: true }),
  });
  const step = fc.record({
    run_id: run,
    step: fc.constantFrom('construct_candidate', 'run_check tests_pass'),
    iteration: fc.integer({ min: 1, max: 3 }),
    input_sha256: fc.constant(SHA),
  });
  const attempt = { attempt: fc.constant(1), duration_ms: fc.nat(100) };
  const optionalCost = fc.oneof(
    fc.constant({}),
    anyCost.map((some) => ({ cost: some })),
  );
  const given: fc.Arbitrary<RunEvent> = fc.oneof(
    run.map((id) => runRequested(id)),
    run.map((id) => runStarted(id)),
    fc
      .tuple(fc.constantFrom('CONVERGED', 'CANCELLED', 'ESCALATED'), run)
      .map(([status, id]) => runEnded(status, id)),
    step.map((fields) => ({ event_type: 'run_step_started', payload: { ...fields, attempt: 1 } })),
    step.map((fields) => ({ event_type: 'run_suspended', payload: { ...fields, deadline_at: '' } })),
    fc.tuple(step, fc.record(attempt), optionalCost).map(([fields, attemptFields, some]) => ({
      event_type: 'run_step_completed',
      payload: { ...fields, ...attemptFields, ...some, output: {} },
    })),
    fc.tuple(step, fc.record(attempt), optionalCost).map(([fields, attemptFields, some]) => ({
      event_type: 'run_step_failed',
      payload: { ...fields, ...attemptFields, ...some, error: 'Engine.Failed', cause: '' },
    })),
    fc.constantFrom(reviewCompleted('APPROVED'), reviewCompleted('CHANGES_REQUESTED'), accepted),
    fc.constant({ event_type: 'heartbeat', payload: {} }),
  );
  const onAnEdge = fc
    .tuple(given, fc.constantFrom(EDGES[0], EDGES[0], EDGES[1]))
    .map(([event, subject]) => ({ ...event, subject }));

  it('equal the runs of a complete fold, for any sequence of events', () => {
    fc.assert(
      fc.property(fc.array(onAnEdge, { maxLength: 60 }), (sequence) => {
        const events = sequence.map(eventOf);
        const { runs, run_ids, spent } = stateOf(events);
        const folded = foldRuns(events);
        expect(run_ids).toEqual(folded.map(({ run_id }) => run_id));
        let total = NO_COST;
        for (const { machine: _, machine_sha256: __, config_sha256: ___, steps, ...summary } of folded) {
          expect(runs.get(summary.run_id)).toEqual(summary);
          const costOfSteps = steps.reduce((sum, each) => addCost(sum, each.cost), NO_COST);
          expectSameCost(summary.spent, costOfSteps);
          total = addCost(total, costOfSteps);
        }
        expectSameCost(spent, total);
      }),
    );
  });
});

/** Fractions are compared approximately: the last digits of their sum depend on the order of addition. */
function expectSameCost(actual: Cost, expected: Cost): void {
  expect(actual.input_tokens + actual.output_tokens).toBe(expected.input_tokens + expected.output_tokens);
  expect(actual.usd === null).toBe(expected.usd === null);
  expect(actual.usd ?? 0).toBeCloseTo(expected.usd ?? 0, 9);
  expect(actual.seconds).toBeCloseTo(expected.seconds, 9);
}

describe('the open run of an edge', () => {
  const [running, request, endedRun] = foldRuns(
    eventsOf(
      ...[runStarted(RUNS[0]), runRequested(RUNS[1]), runRequested(RUNS[2])],
      runEnded('CANCELLED', RUNS[2]),
    ),
  );

  it('is one that was started, otherwise the oldest request, and never one that has ended', () => {
    expect(openRunOf([request!, running!, endedRun!])).toBe(running);
    expect(openRunOf([endedRun!, request!])).toBe(request);
    expect(openRunOf([endedRun!])).toBeUndefined();
  });
});
