import { describe, expect, it } from 'vitest';
import { addTasks } from './add-tasks.js';
import { dependenciesOf } from './dependency-graph.js';
import { applyPlanChange, type Plan } from './plan.js';
import { NOTHING_STARTED, type StartedTasks } from './started-tasks.js';
import { planOfTasks, startedTasksWith } from './testing.js';

const runningPlan = (): Plan =>
  planOfTasks([
    { id: 'A-001-a', description: 'a' },
    { id: 'A-003-c', description: 'c' },
    { id: 'B-001-m', description: 'm', subtasks: 2 },
  ]);

const faultsOf = (tasks: unknown, startedTasks: StartedTasks = NOTHING_STARTED) => {
  const reading = addTasks(runningPlan(), tasks, startedTasks);
  return reading.ok ? [] : reading.faults.map(({ code, path }) => `${code} ${path}`);
};

describe('adding tasks to a running plan', () => {
  it('accepts a task, and the next task in its track then depends on it', () => {
    const plan = runningPlan();
    const reading = addTasks(plan, [{ id: 'A-002-b', description: 'b' }], NOTHING_STARTED);
    expect(reading).toEqual({
      ok: true,
      change: { added: [{ id: 'A-002-b', description: 'b' }], changed: [], removed: [] },
    });
    if (reading.ok) applyPlanChange(plan, reading.change);
    expect(dependenciesOf(plan, 'A-003-c')).toEqual(['A-002-b']);
  });

  it('appends subtasks in order and keeps the descriptions of counted subtasks', () => {
    const plan = runningPlan();
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

  it('accepts a task together with its subtasks', () => {
    const tasks = [
      { id: 'C-001-x::1', description: 'one' },
      { id: 'C-001-x', description: 'x' },
    ];
    expect(addTasks(runningPlan(), tasks, NOTHING_STARTED)).toMatchObject({
      ok: true,
      change: { added: [{ id: 'C-001-x', subtasks: [{ description: 'one' }] }], changed: [] },
    });
  });

  it.each<[name: string, tasks: unknown, faults: string[]]>([
    ['a value that is not a list', { id: 'A-002-b' }, ['BAD_VALUE tasks']],
    ['a value that is not a task', [7], ['BAD_VALUE tasks[0]']],
    ['a bad id', [{ id: 'A-2-b', description: 'b' }], ['BAD_ID tasks[0].id']],
    ['an unknown field', [{ id: 'A-002-b', description: 'b', x: 1 }], ['UNKNOWN_FIELD tasks[0].x']],
    ['an id that is in the plan', [{ id: 'A-001-a', description: 'b' }], ['DUPLICATE_ID tasks[0].id']],
    ['a used sequence number', [{ id: 'A-001-b', description: 'b' }], ['DUPLICATE_SEQUENCE tasks[0].id']],
    ['an existing subtask', [{ id: 'B-001-m::2', description: 'b' }], ['DUPLICATE_ID tasks[0].id']],
    ['a subtask after a gap', [{ id: 'B-001-m::4', description: 'b' }], ['BAD_VALUE tasks[0].id']],
    ['a subtask of an unknown task', [{ id: 'B-009-m::1', description: 'b' }], ['UNKNOWN_TASK tasks[0].id']],
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
      'a cycle with the next task in the track, which depends on the new one implicitly',
      [{ id: 'A-002-b', description: 'b', depends_on: ['A-003-c'] }],
      ['CYCLE tasks[0].depends_on'],
    ],
    [
      'a forbidden name',
      JSON.parse('[{"id":"A-002-b","description":"b","metadata":{"__proto__":1}}]'),
      ['UNKNOWN_FIELD tasks[0].metadata.__proto__'],
    ],
  ])('refuses %s', (_, tasks, faults) => {
    expect(faultsOf(tasks)).toEqual(faults);
  });

  it('refuses new subtasks of a completed task', () => {
    const done = startedTasksWith({ isCompleted: (id) => id === 'B-001-m' });
    expect(faultsOf([{ id: 'B-001-m::3', description: 'late' }], done)).toEqual([
      'ALREADY_COMPLETED tasks[0]',
    ]);
  });
});
