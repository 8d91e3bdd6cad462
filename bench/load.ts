/** What a run of one operation showed. */
export interface Measured {
  readonly count: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/** Runs `operation(0 … count-1)` with so many under way at a time, and measures each from call to reply. */
export async function measure(
  count: number,
  in_flight: number,
  operation: (index: number) => Promise<void>,
): Promise<Measured> {
  const latencies_ms = new Float64Array(count);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next++;
      const asked_ms = performance.now();
      await operation(index);
      latencies_ms[index] = performance.now() - asked_ms;
    }
  };
  const began_ms = performance.now();
  await Promise.all(Array.from({ length: Math.min(in_flight, count) }, worker));
  const took_ms = performance.now() - began_ms;
  return { count, per_second: (count * 1000) / took_ms, ...percentiles(latencies_ms) };
}

export function percentiles(latencies_ms: Float64Array): { p50_ms: number; p99_ms: number } {
  const sorted = latencies_ms.slice().sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50_ms: at(0.5), p99_ms: at(0.99) };
}
