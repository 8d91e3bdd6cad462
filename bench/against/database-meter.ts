import { startUsageMeter } from '../process-usage.js';
import { meterOperations } from './meter.js';

/** The cost of one operation to a database, and to the coordinator before it. */
export interface DatabaseOperationCost {
  /** CPU time of all processes of the database; null where the operating system does not report it. */
  readonly database_cpu_us: number | null;
  readonly database_written_bytes: number | null;
  readonly coordinator_cpu_us: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/** Runs an operation many times, and measures this process and the database's processes meanwhile. */
export async function meterDatabase(
  databasePids: readonly number[],
  count: number,
  inFlight: number,
  operation: (index: number) => Promise<void>,
): Promise<DatabaseOperationCost> {
  const usageSince = startUsageMeter(databasePids);
  const { cpu_us, wall_us, p50_ms, p99_ms } = await meterOperations(count, inFlight, operation);
  const { cpu_seconds, written_bytes } = usageSince() ?? { cpu_seconds: null, written_bytes: null };
  return {
    database_cpu_us: cpu_seconds === null ? null : (cpu_seconds * 1e6) / count,
    database_written_bytes: written_bytes === null ? null : written_bytes / count,
    coordinator_cpu_us: cpu_us,
    per_second: 1e6 / wall_us,
    p50_ms,
    p99_ms,
  };
}
