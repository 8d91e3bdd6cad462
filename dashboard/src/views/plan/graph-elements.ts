import type { Node } from '@xyflow/react';
import { type Area, hasTask } from './graph-area.js';
import { NODE_HEIGHT, NODE_WIDTH, type PlanLayout } from './layout.js';
import type { PlanTask } from './plan-tasks.js';

type TaskNodeData = { readonly task: PlanTask; readonly isCritical: boolean };
export type PlanNode = Node<TaskNodeData, 'task'>;

/** If more tasks are in view, they are too small to be read and are drawn as boxes. */
export const NODES_MAX = 250;

/** Set in advance, because measuring each task would cost a layout. */
const SIZE = { width: NODE_WIDTH, height: NODE_HEIGHT };

interface ShownGraph {
  readonly layout: PlanLayout;
  readonly area: Area;
  readonly critical: ReadonlySet<string>;
}

/**
 * The nodes of the tasks in an area; null if there are too many. A node whose task has not changed is taken from
 * `previous`, so that it is not drawn again.
 */
export function graphNodes(
  tasks: readonly PlanTask[],
  { layout: { positions }, area, critical }: ShownGraph,
  previous: ReadonlyMap<string, PlanNode>,
): readonly PlanNode[] | null {
  const nodes: PlanNode[] = [];
  for (const task of tasks) {
    const position = positions.get(task.id);
    if (position === undefined || !hasTask(area, position)) continue;
    if (nodes.length === NODES_MAX) return null;
    const isCritical = critical.has(task.id);
    const node = previous.get(task.id);
    const isReused = node !== undefined && isSame(node, task, isCritical) && node.position === position;
    nodes.push(isReused ? node : createNode(task, position, isCritical));
  }
  return nodes;
}

const createNode = (task: PlanTask, position: PlanNode['position'], isCritical: boolean): PlanNode => ({
  ...{ id: task.id, type: 'task', position, ...SIZE, measured: SIZE },
  // Lines are drawn in one layer, not between handles.
  handles: [],
  data: { task, isCritical },
});

const isSame = ({ data }: PlanNode, task: PlanTask, isCritical: boolean): boolean =>
  data.isCritical === isCritical &&
  data.task.state === task.state &&
  data.task.description === task.description &&
  data.task.subtasks.completed === task.subtasks.completed &&
  data.task.subtasks.total === task.subtasks.total;
