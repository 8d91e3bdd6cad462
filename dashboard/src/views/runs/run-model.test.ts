import { expect, test } from 'vitest';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { iterationsOf, machineOf, stateToShow, stepParts } from './run-model.js';

type Step = RunDetails['steps'][number];

const step = (name: string, iteration = 1, status: Step['status'] = 'COMPLETED') =>
  ({ step: name, iteration, status }) as Step;
const run = (status: RunDetails['status'], ...steps: Step[]) => ({
  status,
  steps,
  step: steps.at(-1)?.step ?? null,
  started_at: status === 'REQUESTED' ? null : '2026-01-01T00:00:00.000Z',
});
const outlineWith = (...tiers: string[]) => ({
  states: new Set([...EVERY_MACHINE, ...tiers]),
  checkSteps: [],
});
const EVERY_MACHINE = [
  'ClaimEdge',
  'LoadConfig',
  'LoadContext',
  'ConstructCandidate',
  'JudgeIteration',
  'Promote',
  'Escalate',
];
const WHOLE = outlineWith('DeterministicChecks', 'AgentChecks', 'HumanGate');
const progressOfStates = (of: ReturnType<typeof run>, iteration: number) =>
  Object.fromEntries(machineOf(of, iteration, WHOLE).map((state) => [state.name, state.progress]));
const currentStates = (of: ReturnType<typeof run>, iteration: number) =>
  machineOf(of, iteration, WHOLE).flatMap(({ name, isCurrent }) => (isCurrent ? [name] : []));

const PREPARED = [step('claim_edge'), step('load_config'), step('load_context')];

test('a run without steps has reached no state', () => {
  const requested = run('REQUESTED');
  expect(new Set(Object.values(progressOfStates(requested, 1)))).toEqual(new Set(['not reached']));
  expect(currentStates(requested, 1)).toEqual([]);
  expect([iterationsOf(requested), stateToShow(machineOf(requested, 1, null))]).toEqual([[1], 'ClaimEdge']);
});

test('the states of an iteration have its steps, and the states before the first iteration keep theirs', () => {
  const looping = run(
    'RUNNING',
    ...PREPARED,
    ...[step('construct_candidate'), step('run_check a'), step('judge_check b'), step('judge_iteration')],
    ...[step('construct_candidate', 2), step('run_check a', 2), step('run_check c d', 2, 'RUNNING')],
  );
  expect(iterationsOf(looping)).toEqual([1, 2]);
  expect(progressOfStates(looping, 1)).toMatchObject({
    DeterministicChecks: 'completed',
    JudgeIteration: 'completed',
  });
  expect(progressOfStates(looping, 2)).toMatchObject({
    ClaimEdge: 'completed',
    DeterministicChecks: 'running',
    AgentChecks: 'not reached',
  });
  expect([currentStates(looping, 1), currentStates(looping, 2)]).toEqual([[], ['DeterministicChecks']]);
  expect(stateToShow(machineOf(looping, 2, WHOLE))).toBe('DeterministicChecks');
});

test('between two steps the state of the last one is current', () => {
  expect(currentStates(run('RUNNING', ...PREPARED), 1)).toEqual(['LoadContext']);
});

test('a run that waits for a person is in the gate', () => {
  const waiting = run('WAITING', ...PREPARED, step('request_review', 1, 'WAITING'));
  expect(progressOfStates(waiting, 1).HumanGate).toBe('waiting');
  expect(currentStates(waiting, 1)).toEqual(['HumanGate']);
});

test('of an ended run the failed state is shown, and nothing is current or running', () => {
  const failed = run('ESCALATED', ...PREPARED, step('construct_candidate', 1, 'FAILED'), step('escalate'));
  expect(progressOfStates(failed, 1)).toMatchObject({ ConstructCandidate: 'failed', Escalate: 'completed' });
  expect([currentStates(failed, 1), stateToShow(machineOf(failed, 1, WHOLE))]).toEqual([
    [],
    'ConstructCandidate',
  ]);
  const cancelled = run('CANCELLED', ...PREPARED, step('construct_candidate', 1, 'RUNNING'));
  expect(progressOfStates(cancelled, 1).ConstructCandidate).toBe('stopped');
});

test('a large iteration number costs no more than one step', () => {
  expect(iterationsOf(run('RUNNING', step('claim_edge', 1_000_000_000)))).toEqual([1_000_000_000]);
});

test('the name of a check may have spaces', () => {
  expect(stepParts('run_check c d')).toEqual({ handler: 'run_check', check: 'c d' });
  expect(stepParts('promote')).toEqual({ handler: 'promote', check: '' });
});

test('a state that the machine does not have is not shown', () => {
  const started = run('RUNNING', ...PREPARED);
  const stateNames = (of: Parameters<typeof machineOf>[2]) =>
    machineOf(started, 1, of).map(({ name }) => name);
  expect(stateNames(outlineWith('DeterministicChecks'))).not.toContain('HumanGate');
  expect(stateNames(outlineWith('DeterministicChecks'))).toContain('DeterministicChecks');
  expect(stateNames(null)).toEqual(EVERY_MACHINE);
  const checked = run('RUNNING', ...PREPARED, step('run_check a'));
  expect(machineOf(checked, 1, null).map(({ name }) => name)).toContain('DeterministicChecks');
});

test('a run that has started holds the edge, although no step records the claim', () => {
  expect(progressOfStates(run('RUNNING', step('load_config')), 1).ClaimEdge).toBe('completed');
  expect(progressOfStates(run('REQUESTED'), 1).ClaimEdge).toBe('not reached');
});
