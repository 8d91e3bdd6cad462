import { expect, test } from 'vitest';
import { planEntryOf } from './plan-entry.js';

const plan = {
  version: 1,
  plan: {
    tracks: {
      A: [
        { id: 'A-001-x', description: 'first' },
        { id: 'A-002-y', description: 'second', instructions: 'how', subtasks: [{ description: 'part' }] },
      ],
    },
  },
};

test('a task without dependencies waits for the one before it, a merge for its subtasks', () => {
  expect(planEntryOf(plan, 'A-001-x')).toMatchObject({ description: 'first', dependencies: [] });
  expect(planEntryOf(plan, 'A-002-y')?.dependencies).toEqual(['A-002-y::1']);
  expect(planEntryOf(plan, 'A-002-y::1')).toMatchObject({
    description: 'part',
    instructions: 'how',
    dependencies: ['A-001-x'],
  });
});

test('a task outside of the plan has no entry', () => {
  expect(planEntryOf(plan, 'B-001-z')).toBeNull();
  expect(planEntryOf(plan, 'REQ-F-A#design→code')).toBeNull();
});
