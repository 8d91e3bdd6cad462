import { describe, expect, it } from 'vitest';
import { runAtOnce } from '../sliceable-work.js';
import { inputsOf } from './inputs.js';
import { applyPlanChange, type Plan } from './plan.js';
import { compareRank, openDependenciesOf, type RankedSubject, rankedSubject } from './ranking.js';
import type { TaskInput } from './task.js';
import { planChangeWith, planOfTasks } from './testing.js';
import { agentsByTrack, trackCapacity } from './track-capacity.js';
import { WEIGHT_MAX, weighInSlices, weightOf } from './weights.js';

const taskWith = (id: string, fields: Partial<TaskInput> = {}): TaskInput => ({
  id,
  description: id,
  ...fields,
});

const weightIn = (plan: Plan, id: string): number => weightOf(plan, runAtOnce(weighInSlices(plan)), id);

describe('open dependencies', () => {
  const plan = planOfTasks([taskWith('A-001-a'), taskWith('A-002-b', { subtasks: 2 }), taskWith('A-003-c')]);
  const openDependencies = (id: string, ...completedIds: string[]) =>
    openDependenciesOf(plan, id, (dependency) => completedIds.includes(dependency));

  it('are the dependencies that are not completed', () => {
    expect(openDependencies('A-001-a')).toEqual([]);
    expect(openDependencies('A-002-b::1')).toEqual(['A-001-a']);
    expect(openDependencies('A-002-b::1', 'A-001-a')).toEqual([]);
  });

  it('are the open subtasks for a merge, and the merge for its dependants', () => {
    expect(openDependencies('A-002-b', 'A-001-a', 'A-002-b::1')).toEqual(['A-002-b::2']);
    expect(openDependencies('A-003-c', 'A-002-b::1', 'A-002-b::2')).toEqual(['A-002-b']);
  });
});

describe('the order of ready work', () => {
  const plan = planOfTasks([
    taskWith('B-001-low', { priority: -1, depends_on: [] }),
    taskWith('B-002-hub', { depends_on: [] }),
    taskWith('B-003-x', { depends_on: ['B-002-hub'] }),
    taskWith('B-004-y', { depends_on: ['B-003-x'] }),
    taskWith('A-002-late', { depends_on: [] }),
    taskWith('A-001-early', { depends_on: [] }),
    taskWith('C-001-urgent', { priority: 5, depends_on: [] }),
    taskWith('A-003-parts', { depends_on: [], subtasks: 11 }),
  ]);
  const ready = ['A-001-early', 'A-002-late', 'B-001-low', 'B-002-hub', 'C-001-urgent'];
  const sort = (ids: string[], compare: (a: RankedSubject, b: RankedSubject) => number) =>
    ids
      .map((id) => rankedSubject(plan, runAtOnce(weighInSlices(plan)), id) as RankedSubject)
      .sort(compare)
      .map((rank) => rank.id);

  it('is by priority, then by weight, then by position', () => {
    expect(sort(ready, compareRank)).toEqual([
      'C-001-urgent',
      'B-002-hub',
      'A-001-early',
      'A-002-late',
      'B-001-low',
    ]);
    expect(sort(['A-003-parts::10', 'A-003-parts::9', 'A-003-parts::2'], compareRank)).toEqual([
      'A-003-parts::2',
      'A-003-parts::9',
      'A-003-parts::10',
    ]);
  });

  it('has no rank for a subject that is not in the plan', () => {
    expect(rankedSubject(plan, runAtOnce(weighInSlices(plan)), 'A-003-parts::12')).toBeUndefined();
  });
});

describe('weights', () => {
  it('follow the plan when it changes', () => {
    const plan = planOfTasks([taskWith('A-001-a'), taskWith('A-002-b')]);
    expect(weightIn(plan, 'A-001-a')).toBe(1);
    applyPlanChange(plan, planChangeWith({ added: [taskWith('A-003-c')] }));
    expect(weightIn(plan, 'A-001-a')).toBe(2);
  });

  it('of a subtask also count the dependants of its merge', () => {
    const plan = planOfTasks([
      taskWith('A-001-a'),
      taskWith('A-002-b', { subtasks: 2 }),
      taskWith('A-003-c'),
    ]);
    expect(weightIn(plan, 'A-002-b::1')).toBe(2);
    expect(weightIn(plan, 'A-001-a')).toBe(6);
  });

  it('stay finite for 100,000 subjects with exponentially many paths', () => {
    const tasks = Array.from({ length: 100 }, (_, index) =>
      taskWith(`A-${String(index + 1).padStart(3, '0')}-x`, { subtasks: 1000 }),
    );
    const plan = planOfTasks(tasks);
    expect(weightIn(plan, 'A-001-x')).toBe(WEIGHT_MAX);
    expect(weightIn(plan, 'A-100-x::1000')).toBe(1);
    expect(weightIn(plan, 'A-099-x')).toBe(2000);
  });
});

describe('agents in a track', () => {
  const agents = agentsByTrack([
    { subject: 'A-001-a', agent_id: 'ada' },
    { subject: 'A-002-b::1', agent_id: 'ada' },
    { subject: 'A-003-c', agent_id: 'bob' },
    { subject: 'REQ-F-AUTH-001#design_code', agent_id: 'eve' },
  ]);

  it('are counted once each, however many claims they hold', () => {
    expect([...agents].map(([track, names]) => [track, [...names]])).toEqual([['A', ['ada', 'bob']]]);
  });

  it.each([
    ['B', 'eve', null, 'free'],
    ['A', 'ada', null, 'free'],
    ['A', 'eve', null, 'crowded'],
    ['A', 'eve', 2, 'full'],
    ['A', 'ada', 2, 'free'],
    ['A', 'eve', 3, 'free'],
  ] as const)(
    'decide the capacity: track %s, agent %s, limit %s → %s',
    (track, agentId, agentsMax, capacity) => {
      expect(trackCapacity(agents.get(track), agentId, agentsMax)).toBe(capacity);
    },
  );
});

describe('the inputs of a subject', () => {
  const plan = planOfTasks([
    taskWith('A-001-a'),
    taskWith('B-001-b'),
    taskWith('C-001-c', { depends_on: ['B-001-b', 'A-001-a'] }),
    taskWith('D-001-m', { depends_on: ['A-001-a'], subtasks: 2 }),
  ]);
  const inputVersions = (id: string, results: Record<string, [generation: number, epoch: number]>) =>
    inputsOf(plan, id, (subject) => {
      const [generation, epoch] = results[subject] ?? [];
      return generation === undefined || epoch === undefined ? null : { generation, epoch };
    });

  it('are the results of its dependencies in a fixed order', () => {
    expect(inputVersions('C-001-c', { 'A-001-a': [1, 0], 'B-001-b': [12, 3] })).toBe(
      'A-001-a@1.0,B-001-b@12.3',
    );
    expect(inputVersions('C-001-c', { 'A-001-a': [1, 0] })).toBe('A-001-a@1.0,B-001-b@none');
  });

  it('are the subtasks’ results for a merge, and the inputs of the task for a subtask', () => {
    expect(inputVersions('D-001-m', { 'D-001-m::1': [1, 0], 'D-001-m::2': [2, 0] })).toBe(
      'D-001-m::1@1.0,D-001-m::2@2.0',
    );
    expect(inputVersions('D-001-m::2', { 'A-001-a': [4, 1] })).toBe('A-001-a@4.1');
  });

  it('are null without dependencies', () => {
    expect(inputVersions('A-001-a', {})).toBeNull();
  });
});
