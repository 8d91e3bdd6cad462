import { readFileSync } from 'node:fs';

const CLOCK_TICKS_PER_SECOND = 100;

/** Processor time of a process so far, over all its threads, in seconds; null where the system does not report it. */
export function cpuSecondsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain spaces; the later fields do not. utime and stime are the 14th and 15th field.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
  } catch {
    return null;
  }
}

/** Starts counting; the returned function gives the processor time used since. */
export function countCpu(pid: number): () => number | null {
  const before = cpuSecondsOf(pid);
  return () => {
    const after = cpuSecondsOf(pid);
    return before === null || after === null ? null : after - before;
  };
}
