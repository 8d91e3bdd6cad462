import { claim, renew, submit } from '../cycles.js';
import { harnessOn, type Implementation, newTempFolder } from '../harness.js';
import { meterOperations, type OperationCost } from './meter.js';

/** A workload on a file store. `tasks`: how often each operation is measured. */
interface Workload {
  readonly projects: number;
  readonly in_flight: number;
  readonly tasks: number;
}

export type WorkloadName = 'cycles' | 'projects';

const WORKLOADS: Readonly<Record<WorkloadName, Workload>> = {
  cycles: { projects: 1, in_flight: 1000, tasks: 40_000 },
  projects: { projects: 100, in_flight: 64, tasks: 20_000 },
};

/** Tasks completed before the measurement, relative to the number of measured tasks. */
const WARM_UP_SHARE = 0.25;

async function runTrial(dist: string, { projects, in_flight, tasks }: Workload) {
  const { Coordinator } = await import(`${dist}/coordinator/index.js`);
  const { openFileStore } = await import(`${dist}/stores/file/file-store.js`);
  const implementation: Implementation = { Coordinator };
  const root = await newTempFolder();
  const warmUpTasks = Math.ceil(tasks * WARM_UP_SHARE);
  const store = await openFileStore({ root });
  const harness = await harnessOn(store, root, projects, Math.ceil((warmUpTasks + 2 * tasks) / projects), {
    implementation,
  });
  const costs: Record<string, OperationCost> = {};
  try {
    const claimAndSubmit = async (index: number): Promise<void> => {
      await claim(harness, index);
      await submit(harness, index);
    };
    await meterOperations(warmUpTasks, in_flight, claimAndSubmit);
    costs.claim = await meterOperations(tasks, in_flight, (index) => claim(harness, warmUpTasks + index));
    costs.renew = await meterOperations(tasks, in_flight, (index) => renew(harness, warmUpTasks + index));
    costs.submit = await meterOperations(tasks, in_flight, (index) => submit(harness, warmUpTasks + index));
    costs['claim+submit'] = await meterOperations(tasks, in_flight, (index) =>
      claimAndSubmit(warmUpTasks + tasks + index),
    );
  } finally {
    await harness.close();
  }
  return costs;
}

const [, , dist = '', name = ''] = process.argv;
console.log(JSON.stringify(await runTrial(dist, WORKLOADS[name as WorkloadName])));
