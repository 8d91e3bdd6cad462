import { expect, it } from 'vitest';
import type { TaskState } from '../../../../src/core/contract/tasks.js';
import { type Area, isSameArea, shownArea } from './graph-area.js';
import { graphNodes, NODES_MAX, type PlanNode } from './graph-elements.js';
import { boxPaths, LINES_MAX, linePaths, planLines } from './graph-lines.js';
import { COLUMN_WIDTH, layoutPlan } from './layout.js';
import type { PlanTask } from './plan-tasks.js';

const taskWith = (id: string, dependencies: string[] = [], completed = 0): PlanTask => ({
  id,
  track: 'A',
  description: '',
  dependencies,
  isCompleted: false,
  state: null,
  subtasks: { completed, total: 2 },
});
const chainOf = (count: number) =>
  Array.from({ length: count }, (_, index) => taskWith(`A${index}`, index === 0 ? [] : [`A${index - 1}`]));
const EVERYTHING: Area = { left: -1e6, top: -1e6, right: 1e6, bottom: 1e6 };
const NONE = new Set<string>();
const byId = (nodes: readonly PlanNode[] | null) => new Map(nodes?.map((node) => [node.id, node]));

it('draws again only the tasks that have changed', () => {
  const layout = layoutPlan([taskWith('A1'), taskWith('A2'), taskWith('A3')]);
  const shown = { layout, area: EVERYTHING, critical: NONE };
  const before = graphNodes([taskWith('A1'), taskWith('A2'), taskWith('A3')], shown, new Map());
  const after = graphNodes(
    [taskWith('A1'), taskWith('A2', [], 1), taskWith('A3')],
    { ...shown, critical: new Set(['A3']) },
    byId(before),
  );
  expect(after?.map((node, index) => node === before?.[index])).toEqual([true, false, false]);
});

it('draws only the tasks and lines in the window, in steps of a task', () => {
  const tasks = chainOf(20);
  const layout = layoutPlan(tasks);
  const size = { width: 2.5 * COLUMN_WIDTH, height: 300 };
  const area = shownArea([-4 * COLUMN_WIDTH, 0, 1], size);
  expect(graphNodes(tasks, { layout, area, critical: NONE }, new Map())?.map(({ id }) => id)).toEqual([
    'A4',
    'A5',
    'A6',
  ]);
  // A3–A4 to A6–A7: also the lines that only reach into the window.
  expect(linePaths(planLines(tasks, []), layout, area).plain.match(/M/g)).toHaveLength(4);
  expect(isSameArea(area, shownArea([-4.2 * COLUMN_WIDTH, -10, 1], size))).toBe(true);
  expect(isSameArea(area, shownArea([-5.5 * COLUMN_WIDTH, 0, 1], size))).toBe(false);
});

it('draws more tasks than can be read as boxes, a path per state', () => {
  const tasks = chainOf(NODES_MAX + 1);
  const layout = layoutPlan(tasks);
  const shown = { layout, area: EVERYTHING, critical: NONE };
  expect(graphNodes(tasks.slice(1), shown, new Map())).toHaveLength(NODES_MAX);
  expect(graphNodes(tasks, shown, new Map())).toBeNull();
  const ready = { ...taskWith('A1'), state: { readiness: 'ready' } as TaskState };
  const paths = boxPaths([taskWith('A0'), ready, taskWith('A2')], layout, EVERYTHING);
  expect([...paths].map(([state, d]) => [state, d.match(/M/g)?.length])).toEqual([
    ['unknown', 2],
    ['ready', 1],
  ]);
});

it('the graph draws a line per known dependency, marks the critical path, and limits the number of lines', () => {
  const lines = planLines(
    [taskWith('A1', ['Z9']), taskWith('A2', ['A1']), taskWith('A3', ['A1', 'A2'])],
    ['A1', 'A2', 'A3'],
  );
  expect(lines.map(({ from, to, isCritical }) => [from, to, isCritical])).toEqual([
    ['A1', 'A2', true],
    ['A1', 'A3', false],
    ['A2', 'A3', true],
  ]);
  const many = Array.from({ length: 300 }, (_, index) => `A${index}`);
  expect(
    planLines(
      many.map((id) => taskWith(id, many)),
      [],
    ),
  ).toHaveLength(LINES_MAX);
});
