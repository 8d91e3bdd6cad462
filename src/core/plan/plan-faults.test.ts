import { expect, it } from 'vitest';
import { FAULTS_MAX, PlanFaultList } from './plan-faults.js';

it('locates as many faults as it tells, however many there are: to find a place takes time', () => {
  let located = 0;
  const faults = new PlanFaultList((path) => {
    located += 1;
    return { line: path.length, column: 1 };
  });
  for (let at = 0; at < 10 * FAULTS_MAX; at += 1) faults.unknownField([`k${at}`], 'There is no such field.');
  expect(faults.sorted()).toHaveLength(FAULTS_MAX);
  expect(located).toBe(FAULTS_MAX);
});
