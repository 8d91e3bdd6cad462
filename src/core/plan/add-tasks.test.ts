import { describe, expect, it } from 'vitest';
import { addTasks } from './add-tasks.js';
import { dependenciesOf } from './dependency-graph.js';
import { applyPlanChange, type Plan } from './plan.js';
import { NOTHING_STARTED, type StartedTasks } from './started-tasks.js';
import { planOfTasks, startedTasksOf } from './testing.js';

const running = (): Plan =>
  planOfTasks([
    { id: 'A-001-a', description: 'a' },
    { id: 'A-003-c', description: 'c' },
    { id: 'B-001-m', description: 'm', subtasks: 2 },
  ]);

const faultsOf = (tasks: unknown, startedTasks: StartedTasks = NOTHING_STARTED) => {
  const reading = addTasks(running(), tasks, startedTasks);
  return reading.ok ? [] : reading.faults.map(({ code, path }) => `${code} ${path}`);
};

describe('adding to a running plan', () => {
  it('takes a task, which the next in its track then waits for', () => {
    const plan = running();
    const reading = addTasks(plan, [{ id: 'A-002-b', description: 'b' }], NOTHING_STARTED);
    expect(reading).toEqual({
      ok: true,
      change: { added: [{ id: 'A-002-b', description: 'b' }], changed: [], removed: [] },
    });
    if (reading.ok) applyPlanChange(plan, reading.change);
    expect(dependenciesOf(plan, 'A-003-c')).toEqual(['A-002-b']);
  });

  it('takes subtasks one after the other, and keeps the words of those that were only counted', () => {
    const plan = running();
    const reading = addTasks(
      plan,
      [
        { id: 'B-001-m::3', description: 'third', depends_on: ['A-001-a'] },
        { id: 'B-001-m::4', description: 'fourth' },
      ],
      NOTHING_STARTED,
    );
    expect(reading).toMatchObject({
      ok: true,
      change: {
        added: [],
        changed: [
          {
            id: 'B-001-m',
            subtasks: [
              { description: 'm (part 1 of 2)' },
              { description: 'm (part 2 of 2)' },
              { description: 'third', depends_on: ['A-001-a'] },
              { description: 'fourth' },
            ],
          },
        ],
      },
    });
    expect(plan.subject_count).toBe(5);
    if (reading.ok) applyPlanChange(plan, reading.change);
    expect(dependenciesOf(plan, 'B-001-m')).toHaveLength(4);
  });

  it('takes a task and its subtasks together', () => {
    const tasks = [
      { id: 'C-001-x::1', description: 'one' },
      { id: 'C-001-x', description: 'x' },
    ];
    expect(addTasks(running(), tasks, NOTHING_STARTED)).toMatchObject({
      ok: true,
      change: { added: [{ id: 'C-001-x', subtasks: [{ description: 'one' }] }], changed: [] },
    });
  });

  it.each<[name: string, tasks: unknown, faults: string[]]>([
    ['something that is no list', { id: 'A-002-b' }, ['BAD_VALUE tasks']],
    ['something that is no task', [7], ['BAD_VALUE tasks[0]']],
    ['a bad id', [{ id: 'A-2-b', description: 'b' }], ['BAD_ID tasks[0].id']],
    ['an unknown field', [{ id: 'A-002-b', description: 'b', x: 1 }], ['UNKNOWN_FIELD tasks[0].x']],
    ['an id of the plan', [{ id: 'A-001-a', description: 'b' }], ['DUPLICATE_ID tasks[0].id']],
    ['a place of the plan', [{ id: 'A-001-b', description: 'b' }], ['DUPLICATE_SEQUENCE tasks[0].id']],
    ['a subtask that is there', [{ id: 'B-001-m::2', description: 'b' }], ['DUPLICATE_ID tasks[0].id']],
    ['a subtask after a gap', [{ id: 'B-001-m::4', description: 'b' }], ['BAD_VALUE tasks[0].id']],
    ['a subtask of nothing', [{ id: 'B-009-m::1', description: 'b' }], ['UNKNOWN_TASK tasks[0].id']],
    [
      'a subtask with subtasks',
      [{ id: 'B-001-m::3', description: 'b', subtasks: 2 }],
      ['UNKNOWN_FIELD tasks[0].subtasks'],
    ],
    [
      'an unknown dependency of a subtask',
      [
        { id: 'A-002-b', description: 'b' },
        { id: 'B-001-m::3', description: 'b', depends_on: ['A-001-a', 'B-001-m::9'] },
      ],
      ['UNKNOWN_DEPENDENCY tasks[1].depends_on[1]'],
    ],
    [
      'a circle with what is there: the next in the track will wait for the new one',
      [{ id: 'A-002-b', description: 'b', depends_on: ['A-003-c'] }],
      ['CYCLE tasks[0].depends_on'],
    ],
    [
      'a name that does harm',
      JSON.parse('[{"id":"A-002-b","description":"b","metadata":{"__proto__":1}}]'),
      ['UNKNOWN_FIELD tasks[0].metadata.__proto__'],
    ],
  ])('refuses %s', (_, tasks, faults) => {
    expect(faultsOf(tasks)).toEqual(faults);
  });

  it('gives a completed task no more to do', () => {
    const done = startedTasksOf({ isCompleted: (id) => id === 'B-001-m' });
    expect(faultsOf([{ id: 'B-001-m::3', description: 'late' }], done)).toEqual([
      'ALREADY_COMPLETED tasks[0]',
    ]);
  });
});
