/** A workload on a file store. `tasks`: how often each operation is measured. */
export interface Workload {
  readonly projects: number;
  readonly in_flight: number;
  readonly tasks: number;
}

export type WorkloadName = 'cycles' | 'projects';

export const WORKLOADS: Readonly<Record<WorkloadName, Workload>> = {
  cycles: { projects: 1, in_flight: 1000, tasks: 40_000 },
  projects: { projects: 100, in_flight: 64, tasks: 20_000 },
};
