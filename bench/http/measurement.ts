import { percentiles } from '../load.js';

/** Latency of one kind of request, from when it was due (`paced`) or sent (all other loads) to its reply. */
export interface LatencySummary {
  readonly count: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

export const summarizeLatencies = (latenciesMs: readonly number[]): LatencySummary => ({
  count: latenciesMs.length,
  ...percentiles(Float64Array.from(latenciesMs)),
});

/** The measurement of one load. */
export interface RunMeasurement {
  readonly seconds: number;
  /** Jobs that were claimed and completed. */
  readonly jobs: number;
  readonly requests: number;
  /** Processor time of the server, where it was counted. */
  readonly server_cpu_seconds?: number | null;
  /** Processor time of all processes of the database, where there is one. */
  readonly database_cpu_seconds?: number | null;
  /** Latencies by operation, `claim`, `renew` and `complete`, as far as the load has and distinguishes them. */
  readonly latencies: Readonly<Record<string, LatencySummary>>;
}
