import { COLUMN_WIDTH, NODE_HEIGHT, NODE_WIDTH, type Point } from './layout.js';

/** A part of the graph, in its own coordinates. */
export interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}
interface Box {
  readonly width: number;
  readonly height: number;
}
type Transform = readonly [x: number, y: number, zoom: number];

/** The part that a window shows, in steps of a task. After a small move the area is the same, so nothing is drawn again. */
export function shownArea([x, y, zoom]: Transform, { width, height }: Box): Area {
  const roundDown = (value: number, step: number) => Math.floor(value / step) * step;
  return {
    left: roundDown(-x / zoom, COLUMN_WIDTH),
    top: roundDown(-y / zoom, NODE_HEIGHT),
    right: roundDown((width - x) / zoom, COLUMN_WIDTH) + COLUMN_WIDTH,
    bottom: roundDown((height - y) / zoom, NODE_HEIGHT) + NODE_HEIGHT,
  };
}

export const isSameArea = (a: Area, b: Area): boolean =>
  a.left === b.left && a.top === b.top && a.right === b.right && a.bottom === b.bottom;

/** Whether a task is in the area. */
export const hasTask = ({ left, top, right, bottom }: Area, { x, y }: Point): boolean =>
  x < right && x + NODE_WIDTH > left && y < bottom && y + NODE_HEIGHT > top;

/** Whether a line between two tasks may cross the area. */
export const canCross = ({ left, top, right, bottom }: Area, from: Point, to: Point): boolean =>
  Math.min(from.x, to.x) < right &&
  Math.max(from.x, to.x) + NODE_WIDTH > left &&
  Math.min(from.y, to.y) < bottom &&
  Math.max(from.y, to.y) + NODE_HEIGHT > top;
