/** When an edge was worked on. */
interface WorkPeriod {
  readonly started_at: string | null;
  readonly converged_at: string | null;
}

/** The bar of an edge on the time line. `left` and `width` are fractions of the whole width. */
export interface TimeBar<Entry extends WorkPeriod> {
  readonly entry: Entry;
  readonly left: number;
  readonly width: number;
}

/** Narrower bars could not be seen. */
const WIDTH_MIN = 0.01;

/** The edges that have been started, from the first start to the last end or now. */
export function timeBars<Entry extends WorkPeriod>(
  entries: readonly Entry[],
  nowMs: number,
): readonly TimeBar<Entry>[] {
  const started = entries.flatMap((entry) => {
    const startMs = startOf(entry);
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

const startOf = ({ started_at, converged_at }: WorkPeriod): number =>
  Date.parse(started_at ?? converged_at ?? '');

/** When the first edge was started; null if none was. */
export function firstStart(entries: readonly WorkPeriod[]): string | null {
  const starts = entries.map(startOf).filter((ms) => !Number.isNaN(ms));
  return starts.length === 0 ? null : new Date(Math.min(...starts)).toISOString();
}
