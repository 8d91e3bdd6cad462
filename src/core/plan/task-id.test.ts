import { describe, expect, it } from 'vitest';
import { isTaskId, parseTaskId } from './task-id.js';

const d50 = 'd'.repeat(50);

// req: PLN-001, PLN-002, PLN-003, PLN-004, PLN-005
describe('a valid task id', () => {
  it.each([
    ['A-001-setup-authentication-module', 'A', 1, 'setup-authentication-module', null, null],
    ['B-003-repositories::2', 'B', 3, 'repositories', 2, 'B-003-repositories'],
    ['ABCDEFGH-999-x', 'ABCDEFGH', 999, 'x', null, null],
    [`A-010-${d50}::9999`, 'A', 10, d50, 9999, `A-010-${d50}`],
    ['A-001--_-', 'A', 1, '-_-', null, null],
    ['A-100-000', 'A', 100, '000', null, null],
  ])('is parsed into its parts: %s', (task_id, track, sequence, description, subtask_index, parent) => {
    expect(parseTaskId(task_id)).toEqual({
      ok: true,
      id: { task_id, track, sequence, description, subtask_index, parent },
    });
  });
});

// req: PLN-001, PLN-002, PLN-003, PLN-004, PLN-005
describe('an invalid task id', () => {
  it.each([
    ['', 'track'],
    ['a-001-x', 'track'],
    ['ABCDEFGHI-001-x', 'track'],
    ['Task-101', 'track'],
    ['101::1', 'track'],
    ['task-456', 'track'],
    ['A1-001-x', 'track'],
    ['À-001-x', 'track'],
    ['A', 'three digits'],
    ['A-1-x', 'three digits'],
    ['A-0001-x', 'three digits'],
    ['A-٠٠١-x', 'three digits'],
    ['A-000-x', '000'],
    ['A-001', 'description'],
    ['A-001-', 'description'],
    ['A-001-a b', 'description'],
    ['A-001-a#b', 'description'],
    ['A-001-x\n', 'description'],
    [`A-001-${d50}d`, '51 characters'],
    ['A-001-x::0', 'subtask index'],
    ['A-001-x::01', 'subtask index'],
    ['A-001-x::10000', 'subtask index'],
    ['A-001-x::', 'subtask index'],
    ['A-001-x::merge', 'subtask index'],
    ['A-001-x::1::2', 'subtask index'],
    ['A-001-x:1', 'description'],
    [`A-001-${'d'.repeat(75)}`, '80 characters'],
  ])('is refused with the reason: %j', (text, expectedMessage) => {
    const reading = parseTaskId(text);
    expect(reading).toMatchObject({
      ok: false,
      code: 'BAD_ID',
      message: expect.stringContaining(expectedMessage),
    });
    expect(isTaskId(text)).toBe(false);
  });

  it('of a megabyte is refused by its length and not repeated in the message', () => {
    const text = 'A'.repeat(1024 * 1024);
    const reading = parseTaskId(text);
    expect(reading.ok ? '' : reading.message).toBe(
      'A task id has at most 80 characters; this one has 1048576.',
    );
  });
});
