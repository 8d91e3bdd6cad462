import type { RunMeasurement } from './measurement.js';

/** Upper limit for the 99th percentile of the response time of a batch. */
export const P99_MS_MAX = { claim: 50, complete: 100 } as const;

export type TimedOperation = keyof typeof P99_MS_MAX;

/** The fastest of the runs that met the limit; if none did, the fastest of all. Null: there are no runs. */
export function bestOf<Run>(
  runs: readonly Run[],
  operation: TimedOperation,
  measuredOf: (run: Run) => RunMeasurement,
): { readonly run: Run; readonly in_time: boolean } | null {
  const isInTime = (run: Run) =>
    (measuredOf(run).latencies[operation]?.p99_ms ?? Number.POSITIVE_INFINITY) <= P99_MS_MAX[operation];
  const jobRate = (run: Run) => measuredOf(run).jobs / measuredOf(run).seconds;
  const inTimeRuns = runs.filter(isInTime);
  const [best] = [...(inTimeRuns.length > 0 ? inTimeRuns : runs)].sort((a, b) => jobRate(b) - jobRate(a));
  return best === undefined ? null : { run: best, in_time: inTimeRuns.length > 0 };
}
