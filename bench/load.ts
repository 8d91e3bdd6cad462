/** The measurement of one operation. */
export interface LoadResult {
  readonly count: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/** Runs `operation(0 … count-1)` with `inFlight` calls at a time, and measures each from call to reply. */
export async function measure(
  count: number,
  inFlight: number,
  operation: (index: number) => Promise<void>,
): Promise<LoadResult> {
  const latenciesMs = new Float64Array(count);
  let next = 0;
  const runOperations = async () => {
    while (next < count) {
      const index = next++;
      const callStartMs = performance.now();
      await operation(index);
      latenciesMs[index] = performance.now() - callStartMs;
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, runOperations));
  const totalMs = performance.now() - startMs;
  return { count, per_second: (count * 1000) / totalMs, ...percentiles(latenciesMs) };
}

export function percentiles(latenciesMs: Float64Array): { p50_ms: number; p99_ms: number } {
  const sorted = latenciesMs.slice().sort();
  const percentileAt = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50_ms: percentileAt(0.5), p99_ms: percentileAt(0.99) };
}
