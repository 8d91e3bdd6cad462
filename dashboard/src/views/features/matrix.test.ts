import { expect, test } from 'vitest';
import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { matrixOf } from './matrix.js';

const stageOf = (edge: string, mark: string) => ({ edge, stage: edge, optional: false, mark });
const featureWith = (feature_id: string, more: object) => ({
  feature_id,
  title: feature_id,
  status: 'in_progress',
  current_edge: 'b',
  iteration: 3,
  delta: 2,
  waits_for: null,
  ...more,
});
const statusOf = (...features: object[]) =>
  ({
    features,
    coverage: [{ edge: 'a' }, { edge: 'b' }, { edge: 'c' }],
    claims: [{ feature_id: 'F', edge: 'b', agent_id: 'ada' }],
    pending_reviews: [{ feature_id: 'G', edge: 'a', says: 'look at it' }],
    start_would: { feature: 'F', edge: 'b' },
  }) as unknown as MethodologyStatus;

test('the matrix has a column per edge in the order of the graph, and no cell where a profile lacks the edge', () => {
  const { columns, rows } = matrixOf(
    statusOf(
      featureWith('F', { you_are_here: [stageOf('b', '●'), stageOf('a', '✓')] }),
      featureWith('G', { you_are_here: [stageOf('c', '○')] }),
    ),
  );
  expect(columns.map(({ edge }) => edge)).toEqual(['a', 'b', 'c']);
  expect(rows.map(({ cells }) => cells.map((cell) => cell?.word ?? null))).toEqual([
    ['converged', 'iterating 3', null],
    [null, null, 'pending'],
  ]);
  expect(rows[0]?.cells[1]).toMatchObject({ agents: ['ada'], isNext: true, hint: 'Iteration 3, delta 2.' });
});

test('a cell shows why an edge does not continue', () => {
  const wordsOf = (more: object) =>
    matrixOf(statusOf(featureWith('G', more))).rows[0]?.cells.map((cell) => cell?.word);
  expect(wordsOf({ status: 'stuck', you_are_here: [stageOf('b', '●')] })).toEqual(['stuck']);
  expect(wordsOf({ status: 'pending_review', you_are_here: [stageOf('b', '●')] })).toEqual([
    'review pending',
  ]);
  expect(wordsOf({ status: 'blocked', you_are_here: [stageOf('b', '○'), stageOf('c', '✗')] })).toEqual([
    'blocked',
    'blocked',
  ]);
  expect(wordsOf({ you_are_here: [stageOf('a', '●')] })).toEqual(['review pending']);
});
