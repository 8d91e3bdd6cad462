import {
  ControlButton,
  Controls,
  ReactFlow,
  ReactFlowProvider,
  type ReactFlowState,
  useReactFlow,
  useStore,
  type Viewport,
} from '@xyflow/react';
import { type KeyboardEvent, memo, type ReactNode, useCallback, useMemo, useRef } from 'react';
import type { TaskState } from '../../../../src/core/contract/tasks.js';
import type { Plan } from '../../../../src/core/plan/plan.js';
import { criticalPath } from './dependency-order.js';
import { isSameArea, shownArea } from './graph-area.js';
import { graphNodes, type PlanNode } from './graph-elements.js';
import { boxPaths, LINES_MAX, linePaths, planLines } from './graph-lines.js';
import { GraphShapes } from './graph-shapes.js';
import { Lanes } from './lanes-view.js';
import { COLUMN_WIDTH, type PlanLayout } from './layout.js';
import { layoutOf, planTasks } from './plan-tasks.js';
import { TaskNode } from './task-node.js';
import { TASKS_MAX } from './use-plan.js';
import '@xyflow/react/dist/style.css';

const NODE_TYPES = { task: TaskNode };
/** The range of the first zoom. Below it, text cannot be read. */
const FIRST_ZOOM = { min: 0.7, max: 0.9 };
/** The width of the navigation and the margins beside the graph. */
const BESIDE_PX = 240;
const NO_NODES: readonly PlanNode[] = [];

interface Props {
  readonly plan: Plan;
  readonly states: readonly TaskState[];
}

/** The plan as lanes of tasks, with lines from each task to those that wait for it. */
export default memo(function PlanGraph(props: Props) {
  return (
    <ReactFlowProvider>
      <Graph {...props} />
    </ReactFlowProvider>
  );
});

function Graph({ plan, states }: Props) {
  // The layout depends only on the plan, so it does not change when task states do.
  const layout = layoutOf(plan, TASKS_MAX);
  const tasks = useMemo(() => planTasks(plan, states, TASKS_MAX), [plan, states]);
  const path = useMemo(() => criticalPath(tasks), [tasks]);
  const viewport = useRef<Viewport>(null);
  viewport.current ??= firstViewport(layout, path);
  const area = useArea(viewport.current);
  const nodes = useNodes(tasks, layout, path, area);
  const pathText = path.join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines change with the plan and the critical path, not with each state
  const lines = useMemo(() => planLines(tasks, path), [plan, pathText]);
  const shownLines = useMemo(() => linePaths(lines, layout, area), [lines, layout, area]);
  const boxes = useMemo(
    () => (nodes === null ? boxPaths(tasks, layout, area) : null),
    [nodes, tasks, layout, area],
  );
  return (
    <>
      <div className="row graph-top">
        <p className="quiet">
          {path.length === 0
            ? 'All tasks are completed.'
            : `Critical path: ${path.length} ${path.length === 1 ? 'task' : 'tasks'} that can only be done one after the other.`}
          {lines.length >= LINES_MAX ? ` Only the first ${LINES_MAX} dependencies are drawn.` : ''}
          {nodes === null ? ' Zoom in to read the tasks.' : ''}
        </p>
        {/* The controls are above the graph, because over the graph they would cover tasks. */}
        <Controls
          className="graph-controls"
          orientation="horizontal"
          showInteractive={false}
          showFitView={false}
        >
          <FitButton layout={layout} />
        </Controls>
      </div>
      <GraphRegion>
        <ReactFlow
          nodes={(nodes ?? NO_NODES) as PlanNode[]}
          nodeTypes={NODE_TYPES}
          defaultViewport={viewport.current}
          minZoom={0.1}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          elementsSelectable={false}
          zoomOnDoubleClick={false}
        >
          <GraphShapes lines={shownLines} boxes={boxes} />
          <Lanes lanes={layout.lanes} />
        </ReactFlow>
      </GraphRegion>
    </>
  );
}

const STEP_PX = 120;
const STEPS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [STEP_PX, 0],
  ArrowRight: [-STEP_PX, 0],
  ArrowUp: [0, STEP_PX],
  ArrowDown: [0, -STEP_PX],
};

/** A region in which the arrow keys move the graph too. */
function GraphRegion({ children }: { children: ReactNode }) {
  const { getViewport, setViewport } = useReactFlow();
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const { x, y, zoom } = getViewport();
    void setViewport({ x: x + step[0], y: y + step[1], zoom });
  };
  return (
    // biome-ignore-start lint/a11y/noNoninteractiveTabindex: a region that moves must be reachable by keyboard
    // biome-ignore-start lint/a11y/noNoninteractiveElementInteractions: see above
    <section className="plan-graph" aria-label="Graph of the plan" tabIndex={0} onKeyDown={onKeyDown}>
      {children}
    </section>
    // biome-ignore-end lint/a11y/noNoninteractiveElementInteractions: see above
    // biome-ignore-end lint/a11y/noNoninteractiveTabindex: see above
  );
}

/** The part of the graph in the window. Before the window is measured, it is estimated. */
function useArea({ x, y, zoom }: Viewport) {
  const select = useCallback(
    ({ transform, width, height }: ReactFlowState) =>
      width === 0
        ? shownArea([x, y, zoom], { width: innerWidth, height: innerHeight })
        : shownArea(transform, { width, height }),
    [x, y, zoom],
  );
  return useStore(select, isSameArea);
}

function useNodes(
  tasks: ReturnType<typeof planTasks>,
  layout: PlanLayout,
  path: readonly string[],
  area: ReturnType<typeof shownArea>,
) {
  const previous = useRef<ReadonlyMap<string, PlanNode>>(new Map());
  return useMemo(() => {
    const nodes = graphNodes(tasks, { layout, area, critical: new Set(path) }, previous.current);
    previous.current = new Map(nodes?.map((node) => [node.id, node]));
    return nodes;
  }, [tasks, layout, path, area]);
}

/** Shows the whole plan. The library's own button considers only the tasks in view, because only these are drawn. */
function FitButton({ layout: { width, height } }: { layout: PlanLayout }) {
  const { fitBounds } = useReactFlow();
  return (
    <ControlButton
      title="Show the whole plan"
      aria-label="Show the whole plan"
      onClick={() => void fitBounds({ x: 0, y: 0, width, height })}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M1 6V1h5v2H3v3zm9-5h5v5h-2V3h-3zM3 10v3h3v2H1v-5zm10 0h2v5h-5v-2h3z" />
      </svg>
    </ControlButton>
  );
}

/**
 * Shows the whole width if the tasks are readable then. Otherwise starts at the first column, or one column before the
 * first task of the critical path if the window would not show that task.
 */
function firstViewport({ positions, width }: PlanLayout, [first = '']: readonly string[]): Viewport {
  const shownPx = innerWidth - BESIDE_PX;
  const fitting = shownPx / Math.max(1, width);
  if (fitting >= FIRST_ZOOM.min) return { x: 16, y: 8, zoom: Math.min(FIRST_ZOOM.max, fitting) };
  const start = positions.get(first)?.x ?? 0;
  const isShown = (start + COLUMN_WIDTH) * FIRST_ZOOM.max <= shownPx;
  const x = isShown ? 0 : Math.max(0, start - COLUMN_WIDTH);
  return { x: 16 - x * FIRST_ZOOM.max, y: 8, zoom: FIRST_ZOOM.max };
}
