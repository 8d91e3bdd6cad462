import { readFileSync } from 'node:fs';
import { GCProfiler } from 'node:v8';
import { type LoadResult, measure } from '../load.js';

/** The cost of one operation. */
export interface OperationCost {
  readonly cpu_us: number;
  readonly wall_us: number;
  readonly allocated_bytes: number;
  /** Null where the operating system does not count written bytes. */
  readonly written_bytes: number | null;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/** Runs an operation many times, and measures the whole process meanwhile, all its threads included. */
export async function meterOperations(
  count: number,
  inFlight: number,
  operation: (index: number) => Promise<void>,
): Promise<OperationCost> {
  const allocatedBytesSince = startAllocationMeter();
  const writtenBefore = writtenBytes();
  const cpuBefore = process.cpuUsage();
  const load: LoadResult = await measure(count, inFlight, operation);
  const { user, system } = process.cpuUsage(cpuBefore);
  const writtenAfter = writtenBytes();
  return {
    cpu_us: (user + system) / count,
    wall_us: 1e6 / load.per_second,
    allocated_bytes: allocatedBytesSince() / count,
    written_bytes:
      writtenAfter === null || writtenBefore === null ? null : (writtenAfter - writtenBefore) / count,
    p50_ms: load.p50_ms,
    p99_ms: load.p99_ms,
  };
}

/** Counts bytes allocated on the heap from this call on: its growth, plus what each garbage collection freed. */
function startAllocationMeter(): () => number {
  const profiler = new GCProfiler();
  const usedBefore = process.memoryUsage().heapUsed;
  profiler.start();
  return () => {
    const { statistics } = profiler.stop();
    const used = process.memoryUsage().heapUsed;
    const freed = statistics.reduce(
      (sum, { beforeGC, afterGC }) =>
        sum + beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
      0,
    );
    return used - usedBefore + freed;
  };
}

/** Bytes that this process has passed to the system to write. */
function writtenBytes(): number | null {
  try {
    const match = /^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'));
    return match === null ? null : Number(match[1]);
  } catch {
    return null;
  }
}
