import type { Measured } from './measured.js';

/** So soon shall 99 of 100 batches be answered. */
export const P99_MS_MAX = { take: 50, complete: 100 } as const;

export type Operation = keyof typeof P99_MS_MAX;

/** The fastest of the runs that answered in time; of all, where none did. */
export function bestOf<Run>(
  runs: readonly Run[],
  operation: Operation,
  measuredOf: (run: Run) => Measured,
): { readonly run: Run; readonly in_time: boolean } | null {
  const isInTime = (run: Run) =>
    (measuredOf(run).operations[operation]?.p99_ms ?? Number.POSITIVE_INFINITY) <= P99_MS_MAX[operation];
  const speed = (run: Run) => measuredOf(run).jobs / measuredOf(run).seconds;
  const in_time = runs.filter(isInTime);
  const [best] = [...(in_time.length > 0 ? in_time : runs)].sort((a, b) => speed(b) - speed(a));
  return best === undefined ? null : { run: best, in_time: in_time.length > 0 };
}
