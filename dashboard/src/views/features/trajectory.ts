import type { TrajectoryEntry } from '../../../../src/core/contract/methodology-views.js';

/** An edge on the time line, as parts of the whole width. */
export interface TimeBar {
  readonly entry: TrajectoryEntry;
  readonly left: number;
  readonly width: number;
}

/** Narrower bars could not be seen. */
const WIDTH_MIN = 0.01;

/** The edges that have been started, from the first start to the last end or now. */
export function timeBars(trajectory: readonly TrajectoryEntry[], nowMs: number): readonly TimeBar[] {
  const started = trajectory.flatMap((entry) => {
    const startMs = Date.parse(entry.started_at ?? entry.converged_at ?? '');
    if (Number.isNaN(startMs)) return [];
    const endMs = entry.converged_at === null ? nowMs : Date.parse(entry.converged_at);
    // In an imported log, the end may precede the start.
    return [{ entry, startMs, endMs: Math.max(endMs, startMs) }];
  });
  const firstMs = Math.min(...started.map(({ startMs }) => startMs));
  const spanMs = Math.max(1, ...started.map(({ endMs }) => endMs - firstMs));
  return started.map(({ entry, startMs, endMs }) => {
    const width = Math.max(WIDTH_MIN, (endMs - startMs) / spanMs);
    return { entry, width, left: Math.min((startMs - firstMs) / spanMs, 1 - width) };
  });
}
