import { dependencyOrder } from './dependency-order.js';
import type { PlanTask } from './plan-tasks.js';

export const NODE_WIDTH = 200;
export const NODE_HEIGHT = 72;
const GAP_X = 40;
const GAP_Y = 12;
const LANE_PADDING = 16;
/** The space for the name of a lane, above its first row. */
const LANE_TITLE_HEIGHT = 24;
export const COLUMN_WIDTH = NODE_WIDTH + GAP_X;

export interface Lane {
  readonly track: string;
  readonly y: number;
  readonly height: number;
}
export interface Point {
  readonly x: number;
  readonly y: number;
}
export interface PlanLayout {
  readonly lanes: readonly Lane[];
  readonly positions: ReadonlyMap<string, Point>;
  readonly width: number;
  readonly height: number;
}

type PlacedTask = Pick<PlanTask, 'id' | 'track' | 'dependencies'>;

/** One lane per track, one column per depth of dependencies; tasks of the same lane and column are stacked. */
export function layoutPlan(tasks: readonly PlacedTask[]): PlanLayout {
  const depthOf = taskDepths(tasks);
  const cells = new Map<string, number>();
  const rowOf = new Map<string, number>();
  const rowsOf = new Map<string, number>();
  for (const { id, track } of tasks) {
    const cell = `${track} ${depthOf.get(id)}`;
    const row = cells.get(cell) ?? 0;
    cells.set(cell, row + 1);
    rowOf.set(id, row);
    rowsOf.set(track, Math.max(rowsOf.get(track) ?? 0, row + 1));
  }
  const lanes = stackLanes(rowsOf);
  const topOf = new Map(lanes.map(({ track, y }) => [track, y]));
  const positions = new Map<string, Point>();
  let columns = 0;
  for (const { id, track } of tasks) {
    const depth = depthOf.get(id) ?? 0;
    columns = Math.max(columns, depth + 1);
    const top = (topOf.get(track) ?? 0) + LANE_PADDING + LANE_TITLE_HEIGHT;
    positions.set(id, { x: depth * COLUMN_WIDTH, y: top + (rowOf.get(id) ?? 0) * (NODE_HEIGHT + GAP_Y) });
  }
  const last = lanes.at(-1);
  return {
    ...{ lanes, positions, width: Math.max(0, columns * COLUMN_WIDTH - GAP_X) },
    height: last === undefined ? 0 : last.y + last.height,
  };
}

function taskDepths(tasks: readonly PlacedTask[]): Map<string, number> {
  const depthOf = new Map(tasks.map(({ id }) => [id, 0]));
  for (const { id, dependencies } of dependencyOrder(tasks))
    for (const dependency of dependencies) {
      const depth = depthOf.get(dependency);
      if (depth !== undefined) depthOf.set(id, Math.max(depthOf.get(id) ?? 0, depth + 1));
    }
  return depthOf;
}

function stackLanes(rowsOf: ReadonlyMap<string, number>): Lane[] {
  let y = 0;
  return [...rowsOf].map(([track, rows]) => {
    const height = rows * (NODE_HEIGHT + GAP_Y) - GAP_Y + 2 * LANE_PADDING + LANE_TITLE_HEIGHT;
    const lane = { track, y, height };
    y += height;
    return lane;
  });
}
