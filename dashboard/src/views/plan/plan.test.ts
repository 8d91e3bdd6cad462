import { describe, expect, it } from 'vitest';
import type { TaskState } from '../../../../src/core/contract/tasks.js';
import { criticalPath, dependencyOrder } from './dependency-order.js';
import { COLUMN_WIDTH, layoutPlan, NODE_HEIGHT, NODE_WIDTH } from './layout.js';
import { filterFrom, filterRows, sortedById } from './list-filter.js';
import { type PlanTask, planOf, planTasks, type SubjectRow, subjectRows } from './plan-tasks.js';

const stateWith = (task_id: string, more: Partial<TaskState> = {}): TaskState => ({
  task_id,
  phase: 'OPEN',
  readiness: 'ready',
  generation: 0,
  claim: null,
  result: null,
  waiting_for: [],
  parked: 0,
  ...more,
});
const taskWith = (id: string, dependencies: string[] = [], isCompleted = false): PlanTask => ({
  id,
  track: id[0] as string,
  description: '',
  dependencies,
  isCompleted,
  state: null,
  subtasks: { completed: 0, total: 0 },
});

describe('the tasks of a plan', () => {
  const plan = planOf({
    tracks: {
      A: [
        { id: 'A-001-x', description: 'x' },
        { id: 'A-002-y', description: 'y' },
        { id: 'A-003-z', description: 'z', depends_on: [] },
      ],
      B: [
        {
          id: 'B-001-w',
          description: 'w',
          depends_on: ['A-001-x::1', 'A-001-x::2'],
          subtasks: [
            { description: 'one', depends_on: ['A-003-z'] },
            { description: 'two', depends_on: ['B-001-w::1'] },
          ],
        },
      ],
    },
  });

  it('depend on the previous task of their track unless they name others, and on the dependencies of their subtasks', () => {
    const dependencies = planTasks(plan, [], 100).map((task) => [task.id, task.dependencies]);
    expect(dependencies).toEqual([
      ['A-001-x', []],
      ['A-002-y', ['A-001-x']],
      ['A-003-z', []],
      ['B-001-w', ['A-001-x', 'A-003-z']],
    ]);
  });

  it('count their completed subtasks, and have a maximum number', () => {
    const done = { phase: 'COMPLETED' } as const;
    const states = [stateWith('A-001-x', done), stateWith('B-001-w::1', done), stateWith('B-001-w::2')];
    const tasks = planTasks(plan, states, 100);
    expect(tasks.at(-1)?.subtasks).toEqual({ completed: 1, total: 2 });
    expect(tasks[0]).toMatchObject({ isCompleted: true, subtasks: { completed: 0, total: 0 } });
    expect(planTasks(plan, [], 2)).toHaveLength(2);
  });

  it('are rows with the description of the subtask, or without one if the plan no longer has the task', () => {
    const rows = subjectRows(plan, [stateWith('B-001-w::2'), stateWith('Z-001-gone')]);
    expect(rows.map(({ track, description }) => [track, description])).toEqual([
      ['B', 'two'],
      ['', ''],
    ]);
  });
});

describe('the layout', () => {
  it('places tasks by track and depth, and stacks tasks at the same place', () => {
    const tasks = [
      taskWith('A1'),
      taskWith('A2'),
      taskWith('A3', ['B2', 'A1']),
      taskWith('B1'),
      taskWith('B2', ['B1']),
    ];
    const { positions, lanes, width } = layoutPlan(tasks);
    const xs = tasks.map(({ id }) => (positions.get(id)?.x ?? 0) / COLUMN_WIDTH);
    expect(xs).toEqual([0, 0, 2, 0, 1]);
    const yOf = (id: string): number => positions.get(id)?.y ?? 0;
    expect(yOf('A2') - yOf('A1')).toBeGreaterThan(NODE_HEIGHT);
    expect(yOf('A3')).toBe(yOf('A1'));
    expect(lanes.map(({ track }) => track)).toEqual(['A', 'B']);
    const [first, second] = lanes;
    expect(second?.y).toBe(first?.height);
    expect(yOf('A2') + NODE_HEIGHT).toBeLessThan(second?.y ?? 0);
    expect(width).toBe(2 * COLUMN_WIDTH + NODE_WIDTH);
  });

  it('ignores dependencies that are not shown, and survives a cycle and long chains', () => {
    expect(layoutPlan([taskWith('A1', ['Z9'])]).positions.get('A1')?.x).toBe(0);
    expect(layoutPlan([taskWith('A1', ['A2']), taskWith('A2', ['A1'])]).positions.size).toBe(2);
    const chain = Array.from({ length: 10_000 }, (_, i) => taskWith(`A${i}`, i === 0 ? [] : [`A${i - 1}`]));
    expect(layoutPlan(chain).positions.get('A9999')?.x).toBe(9999 * COLUMN_WIDTH);
  });
});

describe('the critical path', () => {
  it('is the longest chain of tasks that are not completed', () => {
    const tasks = [
      taskWith('A1', [], true),
      taskWith('A2', ['A1'], true),
      taskWith('A3', ['A2']),
      taskWith('B1'),
      taskWith('B2', ['B1', 'A1']),
      taskWith('C1', ['A3', 'B2']),
    ];
    expect(criticalPath(tasks)).toEqual(['B1', 'B2', 'C1']);
  });

  it('is empty when everything is completed', () => {
    expect(criticalPath([taskWith('A1', [], true)])).toEqual([]);
  });

  it('is found in an order in which each task comes after its dependencies', () => {
    const tasks = [taskWith('A3', ['A2', 'A1']), taskWith('A2', ['A1']), taskWith('A1')];
    expect(dependencyOrder(tasks).map(({ id }) => id)).toEqual(['A1', 'A2', 'A3']);
  });
});

describe('the list', () => {
  const rowWith = (id: string, more: Partial<SubjectRow> = {}): SubjectRow => ({
    id,
    track: id[0] as string,
    description: `Work on ${id}`,
    readiness: 'ready',
    holder: '',
    generation: 0,
    waiting_for: [],
    parked: 0,
    ...more,
  });
  const rows = [
    rowWith('A-001-x::10', { generation: 2 }),
    rowWith('A-001-x::9', { readiness: 'claimed', holder: 'bob' }),
    rowWith('B-001-y', { readiness: 'completed', description: 'Parser' }),
    rowWith('B-002-z', { readiness: 'claimed', holder: 'ada', generation: 1 }),
  ];
  const idsFor = (query: string): string[] =>
    filterRows(sortedById(rows), filterFrom(new URLSearchParams(query))).map(({ id }) => id);

  it('is filtered by text, track, state and agent', () => {
    expect(idsFor('text=PARS')).toEqual(['B-001-y']);
    expect(idsFor('text=b-002')).toEqual(['B-002-z']);
    expect(idsFor('track=B')).toEqual(['B-001-y', 'B-002-z']);
    expect(idsFor('state=completed')).toEqual(['B-001-y']);
    expect(idsFor('state=claimed&agent=ada')).toEqual(['B-002-z']);
  });

  it('is sorted by id with numbers as numbers, by state, agent and generation, both ways', () => {
    expect(idsFor('')).toEqual(['A-001-x::9', 'A-001-x::10', 'B-001-y', 'B-002-z']);
    expect(idsFor('sort=state')).toEqual(['B-001-y', 'A-001-x::9', 'B-002-z', 'A-001-x::10']);
    expect(idsFor('sort=agent').slice(0, 2)).toEqual(['B-002-z', 'A-001-x::9']);
    expect(idsFor('sort=generation&order=desc').slice(0, 2)).toEqual(['A-001-x::10', 'B-002-z']);
    expect(idsFor('sort=nonsense')[0]).toBe('A-001-x::9');
  });
});
