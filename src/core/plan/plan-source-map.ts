import type { PlanInput } from '../contract/plan.js';
import type { LocatePath, SourcePosition } from '../yaml/source-position.js';

/** Source positions of a plan's tracks and tasks, as plain data for another thread. */
export interface PlanSourceMap {
  readonly [track: string]: {
    readonly heading: SourcePosition;
    /** Line and column of each task's subtasks, or of the task if it has none, as a flat list. */
    readonly tasks: readonly number[];
  };
}

/** Builds the source map of a plan; null if the plan was not read from text. */
export function planSourceMapOf({ tracks }: PlanInput, locate: LocatePath): PlanSourceMap | null {
  const sourceMap: Record<string, PlanSourceMap[string]> = {};
  for (const [track, inputs] of Object.entries(tracks)) {
    const heading = locate(['tracks', track]);
    if (heading === null) return null;
    const tasks = inputs.flatMap((_, index) => {
      const sourcePosition = locate(['tracks', track, index, 'subtasks']);
      return sourcePosition === null ? [] : [sourcePosition.line, sourcePosition.column];
    });
    sourceMap[track] = { heading, tasks };
  }
  return sourceMap;
}

/** Looks up a path in a source map; returns the nearest position in the map. */
export const locateInSourceMap =
  (sourceMap: PlanSourceMap | null): LocatePath =>
  ([, track, taskIndex]) => {
    const trackPositions = sourceMap?.[String(track)];
    if (trackPositions === undefined) return null;
    const line = typeof taskIndex === 'number' ? trackPositions.tasks[taskIndex * 2] : undefined;
    const column = typeof taskIndex === 'number' ? trackPositions.tasks[taskIndex * 2 + 1] : undefined;
    return line === undefined || column === undefined ? trackPositions.heading : { line, column };
  };
