import { readFileSync } from 'node:fs';

const CLOCK_TICKS_PER_SECOND = 100;

/** Seconds of processor time a process has taken so far, all its threads; null where the system does not tell. */
export function cpuSecondsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may have spaces; what follows does not. utime and stime are the 14th and 15th field.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
  } catch {
    return null;
  }
}

/** Starts to count; what it returns says how much was taken since. */
export function countCpu(pid: number): () => number | null {
  const before = cpuSecondsOf(pid);
  return () => {
    const after = cpuSecondsOf(pid);
    return before === null || after === null ? null : after - before;
  };
}
