import type { RunMeasurement } from './measurement.js';
import type { PartRow } from './part-report.js';

/** The measurements of one workload on one system, one for each round. */
export interface Series extends Omit<PartRow, 'measured' | 'remarks'> {
  /** The version of Genesis Fleet, where two versions are compared. */
  readonly version: string | null;
  readonly measured: RunMeasurement[];
}

type SeriesKey = Pick<Series, 'version' | 'system' | 'workload'>;

/** Collects the rows of all rounds; rows of systems that are not installed are left out. */
export class SeriesList {
  private readonly byKey = new Map<string, Series>();

  add({ measured, remarks: _, ...row }: PartRow, version: string | null = null): void {
    if (measured === null) return;
    const key = { ...row, version: row.is_ours ? version : null };
    const existing = this.find(key);
    if (existing === undefined) this.byKey.set(textOf(key), { ...key, measured: [measured] });
    else existing.measured.push(measured);
  }

  find(key: SeriesKey): Series | undefined {
    return this.byKey.get(textOf(key));
  }

  get all(): readonly Series[] {
    return [...this.byKey.values()];
  }
}

const textOf = ({ version, system, workload }: SeriesKey): string =>
  JSON.stringify([version, system, workload]);

export const jobsPerSecond = ({ jobs, seconds }: RunMeasurement): number => jobs / seconds;

/** Processor time of our server per job, in microseconds. */
export const serverCpuUsPerJob = ({ server_cpu_seconds, jobs }: RunMeasurement): number =>
  server_cpu_seconds == null ? Number.NaN : (server_cpu_seconds / jobs) * 1e6;

/** Processor time of the database per job, in microseconds. */
export const databaseCpuUsPerJob = ({ database_cpu_seconds, jobs }: RunMeasurement): number =>
  database_cpu_seconds == null ? Number.NaN : (database_cpu_seconds / jobs) * 1e6;
