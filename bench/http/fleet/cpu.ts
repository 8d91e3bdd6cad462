import { startUsageMeter } from '../../process-usage.js';

/** Starts a meter; the returned function gives the processor time that a process and its children have used since. */
export function startCpuMeter(pid: number): () => number | null {
  const usageSince = startUsageMeter([pid]);
  return () => usageSince()?.cpu_seconds ?? null;
}
