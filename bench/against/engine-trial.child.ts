import type { Engine } from '../../src/stores/engines.js';
import { claim, renew, submit } from '../cycles.js';
import { harnessOn, newTempFolder } from '../harness.js';
import { type EngineOperationCost, meterEngine } from './engine-meter.js';

/** What one trial is given, as JSON in its argument. */
export interface EngineTrial {
  /** Folder of the compiled version. */
  readonly dist: string;
  readonly url: string;
  readonly engine_pids: readonly number[];
  readonly projects: number;
  readonly tasks: number;
}

const IN_FLIGHT = 1000;
/** The part of the tasks that is claimed and completed before anything is measured. */
const WARM_UP = 0.4;

async function trial({ dist, url, engine_pids, projects, tasks }: EngineTrial) {
  const { Coordinator } = await import(`${dist}/coordinator/index.js`);
  const { engineOf } = await import(`${dist}/stores/engines.js`);
  const engine: Engine = await engineOf(url);
  const migrator = await engine.migrator(url);
  await migrator.up();
  await migrator.close();
  const warmUp = Math.ceil(tasks * WARM_UP);
  const tasksEach = Math.ceil((warmUp + tasks) / projects);
  const harness = await harnessOn(await engine.open(url), await newTempFolder(), projects, tasksEach, {
    implementation: { Coordinator },
  });
  const measure = (count: number, operation: (index: number) => Promise<void>) =>
    meterEngine(engine_pids, count, IN_FLIGHT, operation);
  const costs: Record<string, EngineOperationCost> = {};
  try {
    for (const operation of [claim, renew, submit])
      await measure(warmUp, (index) => operation(harness, index));
    for (const [name, operation] of Object.entries({ claim, renew, submit }))
      costs[name] = await measure(tasks, (index) => operation(harness, warmUp + index));
  } finally {
    await harness.close();
  }
  return costs;
}

console.log(JSON.stringify(await trial(JSON.parse(process.argv[2] ?? '') as EngineTrial)));
