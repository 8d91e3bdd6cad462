import { describe, expect, it } from 'vitest';
import { dependantsOf, dependenciesOf } from './dependency-graph.js';
import { applyPlanChange } from './plan.js';
import { diffPlan, splitChange } from './plan-change.js';
import type { TaskInput } from './task.js';
import { planChangeWith, planInputOf, planOfTasks } from './testing.js';

const taskWith = (id: string, fields: Partial<TaskInput> = {}): TaskInput => ({
  id,
  description: id,
  ...fields,
});

describe('dependencies', () => {
  // req: PLN-009
  it('a task without depends_on depends on the previous task in its track, across gaps', () => {
    const plan = planOfTasks([
      taskWith('A-009-c'),
      taskWith('A-001-a'),
      taskWith('A-004-b'),
      taskWith('B-002-x'),
    ]);
    expect(dependenciesOf(plan, 'A-001-a')).toEqual([]);
    expect(dependenciesOf(plan, 'A-004-b')).toEqual(['A-001-a']);
    expect(dependenciesOf(plan, 'A-009-c')).toEqual(['A-004-b']);
    expect(dependenciesOf(plan, 'B-002-x')).toEqual([]);
    expect([...dependantsOf(plan, 'A-001-a')]).toEqual(['A-004-b']);
  });

  it('a task with an empty depends_on depends on nothing', () => {
    const plan = planOfTasks([taskWith('A-001-a'), taskWith('A-002-b', { depends_on: [] })]);
    expect(dependenciesOf(plan, 'A-002-b')).toEqual([]);
    expect([...dependantsOf(plan, 'A-001-a')]).toEqual([]);
  });

  // req: PLN-013
  it('a merge depends on its subtasks, which have the dependencies of the task and their own', () => {
    const plan = planOfTasks([
      taskWith('A-001-a'),
      taskWith('B-001-b'),
      taskWith('A-002-m', {
        subtasks: [{ description: 'one' }, { description: 'two', depends_on: ['B-001-b', 'A-002-m::1'] }],
      }),
      taskWith('A-003-c'),
    ]);
    expect(dependenciesOf(plan, 'A-002-m')).toEqual(['A-002-m::1', 'A-002-m::2']);
    expect(dependenciesOf(plan, 'A-002-m::1')).toEqual(['A-001-a']);
    expect(dependenciesOf(plan, 'A-002-m::2')).toEqual(['A-001-a', 'B-001-b', 'A-002-m::1']);
    expect(dependenciesOf(plan, 'A-003-c')).toEqual(['A-002-m']);
    expect([...dependantsOf(plan, 'A-001-a')].sort()).toEqual(['A-002-m::1', 'A-002-m::2']);
    expect([...dependantsOf(plan, 'A-002-m::1')].sort()).toEqual(['A-002-m', 'A-002-m::2']);
    expect([...dependantsOf(plan, 'A-002-m')]).toEqual(['A-003-c']);
  });
});

describe('finding subjects', () => {
  it('finds tasks and exactly their own subtasks', () => {
    const plan = planOfTasks([taskWith('A-001-a', { subtasks: 2 })]);
    expect([...plan.subjects()]).toEqual(['A-001-a::1', 'A-001-a::2', 'A-001-a']);
    expect(plan.get('A-001-a::2')).toMatchObject({
      id: 'A-001-a::2',
      subtask_index: 2,
      task: { id: 'A-001-a' },
    });
    for (const unknown of [
      'A-001-a::0',
      'A-001-a::3',
      'A-001-a::01',
      'A-001-a::1e0',
      'A-001-a::',
      'A-002-b',
    ]) {
      expect(plan.has(unknown), unknown).toBe(false);
    }
  });
});

describe('changing a plan', () => {
  it('inserts a task between two others, and the later one depends on it', () => {
    const plan = planOfTasks([taskWith('A-001-a'), taskWith('A-003-c')]);
    applyPlanChange(plan, planChangeWith({ added: [taskWith('A-002-b')] }));
    expect(dependenciesOf(plan, 'A-003-c')).toEqual(['A-002-b']);
    applyPlanChange(plan, planChangeWith({ removed: ['A-002-b'] }));
    expect(dependenciesOf(plan, 'A-003-c')).toEqual(['A-001-a']);
  });

  it('reports only differences and ignores the order of names', () => {
    const plan = planOfTasks([
      taskWith('A-001-a', { metadata: { x: 1, y: [{ p: 1, q: 2 }] } }),
      taskWith('A-002-b', { priority: 1 }),
      taskWith('A-003-c'),
    ]);
    const target = planInputOf([
      taskWith('A-001-a', { metadata: { y: [{ q: 2, p: 1 }], x: 1 }, priority: 0, modules: [] }),
      taskWith('A-002-b', { priority: 2 }),
      taskWith('A-004-d'),
    ]);
    expect(diffPlan(plan, target)).toEqual({
      added: [taskWith('A-004-d')],
      changed: [taskWith('A-002-b', { priority: 2 })],
      removed: ['A-003-c'],
    });
  });

  it('treats an empty depends_on as different from a missing one', () => {
    const plan = planOfTasks([taskWith('A-001-a')]);
    expect(diffPlan(plan, planInputOf([taskWith('A-001-a', { depends_on: [] })])).changed).toHaveLength(1);
  });

  it('splits a change into events of at most 500 tasks, removals first', () => {
    const added = Array.from({ length: 700 }, (_, index) =>
      taskWith(`A-${String(index + 1).padStart(3, '0')}-x`),
    );
    const parts = splitChange(planChangeWith({ added, removed: ['B-001-x', 'B-002-x'] }));
    expect(parts.map((part) => [part.removed.length, part.added.length])).toEqual([
      [2, 498],
      [0, 202],
    ]);
    expect(parts.flatMap((part) => part.added)).toEqual(added);
    expect(splitChange(planChangeWith({}))).toEqual([]);
  });

  it('splits earlier if the tasks are long', () => {
    const added = [1, 2, 3].map((sequence) =>
      taskWith(`A-00${sequence}-x`, { instructions: 'i'.repeat(90_000) }),
    );
    expect(splitChange(planChangeWith({ added })).map((part) => part.added.length)).toEqual([2, 1]);
  });
});
