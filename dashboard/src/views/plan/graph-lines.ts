import type { Readiness } from '../../../../src/core/contract/values.js';
import { type Area, canCross, hasTask } from './graph-area.js';
import { NODE_HEIGHT, NODE_WIDTH, type PlanLayout, type Point } from './layout.js';
import type { PlanTask } from './plan-tasks.js';

/** If there are more lines, only the first are drawn. */
export const LINES_MAX = 20_000;

/** A line from a dependency to the task that waits for it. */
interface PlanLine {
  readonly from: string;
  readonly to: string;
  readonly isCritical: boolean;
}

export function planLines(tasks: readonly PlanTask[], path: readonly string[]): PlanLine[] {
  const nextOf = new Map(path.map((id, index) => [id, path[index + 1]]));
  const taskIds = new Set(tasks.map(({ id }) => id));
  const lines: PlanLine[] = [];
  for (const { id: to, dependencies } of tasks)
    for (const from of dependencies) {
      if (lines.length >= LINES_MAX) return lines;
      if (taskIds.has(from)) lines.push({ from, to, isCritical: nextOf.get(from) === to });
    }
  return lines;
}

/** The lines in an area as the data of two SVG paths, because an element per line costs much more. */
export function linePaths(lines: readonly PlanLine[], { positions }: PlanLayout, area: Area) {
  const [plain, critical]: [string[], string[]] = [[], []];
  for (const { from, to, isCritical } of lines) {
    const [start, end] = [positions.get(from), positions.get(to)];
    if (start === undefined || end === undefined || !canCross(area, start, end)) continue;
    (isCritical ? critical : plain).push(curve(start, end));
  }
  return { plain: plain.join(''), critical: critical.join('') };
}

function curve(from: Point, to: Point): string {
  const [x1, y1] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2];
  const [x2, y2] = [to.x, to.y + NODE_HEIGHT / 2];
  const bend = Math.max(30, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

/** The tasks in an area as boxes: a path per state. */
export function boxPaths(
  tasks: readonly PlanTask[],
  { positions }: PlanLayout,
  area: Area,
): ReadonlyMap<Readiness | 'unknown', string> {
  const paths = new Map<Readiness | 'unknown', string>();
  for (const { id, state } of tasks) {
    const at = positions.get(id);
    if (at === undefined || !hasTask(area, at)) continue;
    const readiness = state?.readiness ?? 'unknown';
    const box = `M${at.x} ${at.y}h${NODE_WIDTH}v${NODE_HEIGHT}h-${NODE_WIDTH}z`;
    paths.set(readiness, (paths.get(readiness) ?? '') + box);
  }
  return paths;
}
