import { expect, it } from 'vitest';
import type { Explanation } from '../../../../src/core/contract/tasks.js';
import { runnerChecks } from './runner-checks.js';

const evidence = {
  candidate: { generation: 2, candidate_sha256: 'a' },
  passed: [{ name: 'tests pass', runner_id: 'ci' }],
  missing: [{ name: 'types', says: 'no runner has checked it' }],
} as unknown as NonNullable<Explanation['evidence']>;

it('lists the passed and the missing checks, of the candidate of this generation only', () => {
  expect(runnerChecks({ evidence }, 2)).toEqual([
    { name: 'tests pass', hasPassed: true, text: 'by runner ci' },
    { name: 'types', hasPassed: false, text: 'no runner has checked it' },
  ]);
  expect(runnerChecks({ evidence }, 1)).toEqual([]);
  expect(runnerChecks({}, 2)).toEqual([]);
  expect(runnerChecks(undefined, 2)).toEqual([]);
});
