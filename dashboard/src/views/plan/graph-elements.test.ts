import { expect, it } from 'vitest';
import { graphEdges, graphNodes, LINES_MAX, type PlanNode } from './graph-elements.js';
import { layoutPlan } from './layout.js';
import type { PlanTask } from './plan-tasks.js';

const task = (id: string, dependencies: string[] = [], completed = 0): PlanTask => ({
  id,
  track: 'A',
  description: '',
  dependencies,
  isCompleted: false,
  state: null,
  subtasks: { completed, total: 2 },
});
const byId = (nodes: readonly PlanNode[]) => new Map(nodes.map((node) => [node.id, node]));

it('draws again only the tasks that have changed', () => {
  const layout = layoutPlan([task('A1'), task('A2'), task('A3')]);
  const before = graphNodes([task('A1'), task('A2'), task('A3')], layout, new Set(), new Map());
  const after = graphNodes(
    [task('A1'), task('A2', [], 1), task('A3')],
    layout,
    new Set(['A3']),
    byId(before),
  );
  expect(after.map((node, index) => node === before[index])).toEqual([true, false, false]);
});

it('draws a line per known dependency, those of the critical path marked, and not without limit', () => {
  const edges = graphEdges(
    [task('A1', ['Z9']), task('A2', ['A1']), task('A3', ['A1', 'A2'])],
    ['A1', 'A2', 'A3'],
  );
  expect(edges.map(({ id, className }) => [id, className])).toEqual([
    ['A1 A2', 'line-critical'],
    ['A1 A3', 'line'],
    ['A2 A3', 'line-critical'],
  ]);
  const many = Array.from({ length: 300 }, (_, index) => `A${index}`);
  expect(
    graphEdges(
      many.map((id) => task(id, many)),
      [],
    ),
  ).toHaveLength(LINES_MAX);
});
