import { expect, it } from 'vitest';
import { FAULTS_MAX, PlanFaultList } from './plan-faults.js';

it('locates only the faults that it reports, because locating a fault is slow', () => {
  let located = 0;
  const faults = new PlanFaultList((path) => {
    located += 1;
    return { line: path.length, column: 1 };
  });
  for (let at = 0; at < 10 * FAULTS_MAX; at += 1)
    faults.add('UNKNOWN_FIELD', [`k${at}`], 'There is no such field.');
  expect(faults.sorted()).toHaveLength(FAULTS_MAX);
  expect(located).toBe(FAULTS_MAX);
});
