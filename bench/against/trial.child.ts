import { claim, renew, submit } from '../cycles.js';
import { type BenchHarness, harnessOn, type Implementation, newTempFolder } from '../harness.js';
import { meterOperations } from './meter.js';
import { WORKLOADS, type Workload, type WorkloadName } from './workloads.js';

/** Tasks completed before the measurement, relative to the number of measured tasks. */
const WARM_UP_SHARE = 0.25;

export type TrialOperation = 'claim' | 'renew' | 'submit' | 'claim+submit';

/** Part of a trial: one operation on `count` of the measured tasks, from `first` on. */
export interface TrialSlice {
  readonly operation: TrialOperation;
  readonly first: number;
  readonly count: number;
}

const claimAndSubmit = async (harness: BenchHarness, index: number): Promise<void> => {
  await claim(harness, index);
  await submit(harness, index);
};
const OPERATIONS = { claim, renew, submit, 'claim+submit': claimAndSubmit };

/** Opens a store, warms up, then measures one slice per message until the parent disconnects. */
async function runTrial(dist: string, { projects, in_flight, tasks }: Workload): Promise<void> {
  const { Coordinator } = await import(`${dist}/coordinator/index.js`);
  const { openFileStore } = await import(`${dist}/stores/file/file-store.js`);
  const implementation: Implementation = { Coordinator };
  const root = await newTempFolder();
  const warmUpTasks = Math.ceil(tasks * WARM_UP_SHARE);
  const tasksPerProject = Math.ceil((warmUpTasks + 2 * tasks) / projects);
  const harness = await harnessOn(await openFileStore({ root }), root, projects, tasksPerProject, {
    implementation,
  });
  process.once('disconnect', () => void harness.close());
  await meterOperations(warmUpTasks, in_flight, (index) => claimAndSubmit(harness, index));
  global.gc?.();
  process.on('message', ({ operation, first, count }: TrialSlice) => {
    const from = warmUpTasks + first;
    void meterOperations(count, in_flight, (index) => OPERATIONS[operation](harness, from + index)).then(
      (cost) => process.send?.(cost),
    );
  });
  process.send?.('ready');
}

const [, , dist = '', name = ''] = process.argv;
await runTrial(dist, WORKLOADS[name as WorkloadName]);
