import { type Edge, type Node, Position } from '@xyflow/react';
import { NODE_HEIGHT, NODE_WIDTH, type PlanLayout } from './layout.js';
import type { PlanTask } from './plan-tasks.js';

export type TaskNodeData = { readonly task: PlanTask; readonly isCritical: boolean };
export type PlanNode = Node<TaskNodeData, 'task'>;

/** Beyond it, only the first are drawn. */
export const LINES_MAX = 20_000;

/** Where lines end. Given in advance, so that lines to tasks outside of the window are drawn too. */
const HANDLES = [
  { type: 'target' as const, position: Position.Left, x: 0, y: NODE_HEIGHT / 2, width: 1, height: 1 },
  {
    type: 'source' as const,
    position: Position.Right,
    x: NODE_WIDTH,
    y: NODE_HEIGHT / 2,
    width: 1,
    height: 1,
  },
];

/** Nodes of the graph. A node whose task has not changed is taken from the previous ones, so it is not drawn again. */
export function graphNodes(
  tasks: readonly PlanTask[],
  { positions }: PlanLayout,
  critical: ReadonlySet<string>,
  previous: ReadonlyMap<string, PlanNode>,
): PlanNode[] {
  return tasks.map((task) => {
    const isCritical = critical.has(task.id);
    const position = positions.get(task.id) ?? { x: 0, y: 0 };
    const node = previous.get(task.id);
    if (node !== undefined && isSame(node, task, isCritical) && node.position === position) return node;
    return {
      id: task.id,
      type: 'task',
      position,
      width: NODE_WIDTH,
      height: NODE_HEIGHT,
      handles: HANDLES,
      data: { task, isCritical },
    };
  });
}

const isSame = ({ data }: PlanNode, task: PlanTask, isCritical: boolean): boolean =>
  data.isCritical === isCritical &&
  data.task.state === task.state &&
  data.task.description === task.description &&
  data.task.subtasks.completed === task.subtasks.completed &&
  data.task.subtasks.total === task.subtasks.total;

/** A line from each dependency to the task that waits for it. */
export function graphEdges(tasks: readonly PlanTask[], path: readonly string[]): Edge[] {
  const nextOf = new Map(path.map((id, index) => [id, path[index + 1]]));
  const known = new Set(tasks.map(({ id }) => id));
  const edges: Edge[] = [];
  for (const { id, dependencies } of tasks)
    for (const dependency of dependencies) {
      if (edges.length >= LINES_MAX) return edges;
      if (!known.has(dependency)) continue;
      const className = nextOf.get(dependency) === id ? 'line-critical' : 'line';
      edges.push({ id: `${dependency} ${id}`, source: dependency, target: id, className });
    }
  return edges;
}
