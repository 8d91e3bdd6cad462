import type { RunMeasurement } from './measurement.js';

/** Where a system keeps its data: ratios are formed between systems on the same database. */
export type BenchStore = 'file' | 'redis' | 'postgres';

/** A row of the table: one workload on one system. `measured` is null if the system is not installed. */
export interface PartRow {
  readonly system: string;
  readonly is_ours: boolean;
  readonly store: BenchStore;
  readonly workload: string;
  readonly durable: string;
  readonly measured: RunMeasurement | null;
  readonly remarks: string;
}

/** The result of a part: its rows of the table, and the faults that were found. */
export interface PartReport {
  readonly rows: readonly PartRow[];
  /** Lines printed below the table. */
  readonly remarks?: readonly string[];
  readonly faults: readonly string[];
}

export const notInstalled = (system: string, store: BenchStore): PartReport => ({
  rows: [
    {
      ...{ system, store, is_ours: false, workload: 'not installed', durable: '' },
      ...{ measured: null, remarks: '' },
    },
  ],
  faults: [],
});
