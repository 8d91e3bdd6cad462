import { expect, it } from 'vitest';
import { FAULTS_MAX, PlanFaultList } from './plan-faults.js';

it('locates only the faults that it reports, because locating a fault is slow', () => {
  let locateCalls = 0;
  const faults = new PlanFaultList((path) => {
    locateCalls += 1;
    return { line: path.length, column: 1 };
  });
  for (let index = 0; index < 10 * FAULTS_MAX; index += 1)
    faults.add('UNKNOWN_FIELD', [`k${index}`], 'There is no such field.');
  expect(faults.sorted()).toHaveLength(FAULTS_MAX);
  expect(locateCalls).toBe(FAULTS_MAX);
});
