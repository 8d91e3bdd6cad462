import { countUsage } from '../../process-usage.js';

/** Starts counting; the returned function gives the processor time that a process and its children have used since. */
export function countCpu(pid: number): () => number | null {
  const usageSince = countUsage([pid]);
  return () => usageSince()?.cpu_seconds ?? null;
}
