import { expect, test } from 'vitest';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { checkGrid } from './check-grid.js';

type Step = RunDetails['steps'][number];

const completedStep = (step: string, iteration: number, output: Step['output']) =>
  ({ step, iteration, status: 'COMPLETED', output }) as Step;
const wordsOf = (steps: Step[]) =>
  checkGrid({ steps }).rows.map(({ check, cells }) => [check, ...cells.map((cell) => cell?.word ?? null)]);

test('a row per check, programs before models before people, and the delta of each iteration', () => {
  const steps = [
    completedStep('run_check tests', 1, { result: 'fail', says: '2 failed' }),
    completedStep('judge_iteration', 1, { delta: 3 }),
    completedStep('run_check tests', 2, { result: 'pass' }),
    completedStep('request_review', 2, { decision: 'APPROVED', comment: 'good' }),
    completedStep('judge_check reads well', 2, { result: 'pass' }),
  ];
  expect(wordsOf(steps)).toEqual([
    ['tests', 'fail', 'pass'],
    ['reads well', null, 'pass'],
    ['review', null, 'APPROVED'],
  ]);
  const { deltas, iterations, rows } = checkGrid({ steps });
  expect([iterations, deltas]).toEqual([
    [1, 2],
    [3, null],
  ]);
  expect(rows[0]?.cells[0]).toEqual({ word: 'fail', tone: 'mark-bad', message: '2 failed' });
});

test('a failed or running step has no result', () => {
  const broken = { ...completedStep('run_check a', 1, null), status: 'FAILED', cause: 'no disk' } as Step;
  const running = { ...completedStep('run_check b', 1, null), status: 'RUNNING' } as Step;
  expect(wordsOf([broken, running])).toEqual([
    ['a', 'step failed'],
    ['b', 'running'],
  ]);
});

test('an output of another form, or stored elsewhere, is not a result', () => {
  expect(
    wordsOf([
      completedStep('run_check a', 1, { result: { pass: true } }),
      completedStep('run_check b', 1, null),
    ]),
  ).toEqual([
    ['a', 'see its output'],
    ['b', 'see its output'],
  ]);
  expect(checkGrid({ steps: [completedStep('judge_iteration', 1, { delta: 'all' })] }).deltas).toEqual([
    null,
  ]);
});

test('a check of the machine that was not run yet has an empty row', () => {
  const { rows } = checkGrid({ steps: [completedStep('run_check b', 1, { result: 'pass' })] }, [
    'run_check a',
    'run_check b',
    'request_review',
  ]);
  expect(rows.map(({ check, cells }) => [check, cells[0]?.word ?? null])).toEqual([
    ['a', null],
    ['b', 'pass'],
    ['review', null],
  ]);
});
