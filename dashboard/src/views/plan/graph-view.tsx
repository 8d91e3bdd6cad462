import { Controls, ReactFlow, type Viewport } from '@xyflow/react';
import { memo, useMemo, useRef } from 'react';
import type { TaskState } from '../../../../src/core/contract/tasks.js';
import type { Plan } from '../../../../src/core/plan/plan.js';
import { criticalPath } from './dependency-order.js';
import { graphEdges, graphNodes, LINES_MAX, type PlanNode } from './graph-elements.js';
import { Lanes } from './lanes-view.js';
import { COLUMN_WIDTH, layoutPlan, type PlanLayout } from './layout.js';
import { planTasks } from './plan-tasks.js';
import { TaskNode } from './task-node.js';
import { TASKS_MAX } from './use-plan.js';
import '@xyflow/react/dist/style.css';

const NODE_TYPES = { task: TaskNode };
const ZOOM = { least: 0.55, most: 0.9 };
/** Navigation and margins. */
const BESIDE_PX = 240;

/** The plan as lanes of tasks, with lines from each task to those that wait for it. */
export default memo(function PlanGraph({ plan, states }: { plan: Plan; states: readonly TaskState[] }) {
  // The layout depends only on the plan, so it does not change when task states do.
  const layout = useMemo(() => layoutPlan(planTasks(plan, [], TASKS_MAX)), [plan]);
  const tasks = useMemo(() => planTasks(plan, states, TASKS_MAX), [plan, states]);
  const path = useMemo(() => criticalPath(tasks), [tasks]);
  const nodes = useNodes(tasks, layout, path);
  const pathText = path.join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines change with the plan and the critical path, not with each state
  const edges = useMemo(() => graphEdges(tasks, path), [plan, pathText]);
  return (
    <>
      <p className="quiet">
        {path.length === 0
          ? 'All tasks are completed.'
          : `Critical path: ${path.length} ${path.length === 1 ? 'task' : 'tasks'} that can only be done one after the other.`}
        {edges.length >= LINES_MAX ? ` Only the first ${LINES_MAX} dependencies are drawn.` : ''}
      </p>
      <section className="plan-graph" aria-label="Graph of the plan">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={NODE_TYPES}
          defaultViewport={firstViewport(layout, path)}
          minZoom={0.1}
          onlyRenderVisibleElements
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnDoubleClick={false}
        >
          <Lanes lanes={layout.lanes} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </section>
    </>
  );
});

function useNodes(tasks: ReturnType<typeof planTasks>, layout: PlanLayout, path: readonly string[]) {
  const previous = useRef<ReadonlyMap<string, PlanNode>>(new Map());
  return useMemo(() => {
    const nodes = graphNodes(tasks, layout, new Set(path), previous.current);
    previous.current = new Map(nodes.map((node) => [node.id, node]));
    return nodes;
  }, [tasks, layout, path]);
}

/** The whole width if it is readable then. Otherwise it starts one column before the first task of the critical path. */
function firstViewport({ positions, width }: PlanLayout, [first = '']: readonly string[]): Viewport {
  const fitting = (innerWidth - BESIDE_PX) / Math.max(1, width);
  if (fitting >= ZOOM.least) return { x: 16, y: 8, zoom: Math.min(ZOOM.most, fitting) };
  const x = Math.max(0, (positions.get(first)?.x ?? 0) - COLUMN_WIDTH);
  return { x: 16 - x * ZOOM.most, y: 8, zoom: ZOOM.most };
}
