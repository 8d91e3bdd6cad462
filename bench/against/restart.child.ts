import type { ProjectKey } from '../../src/stores/store.js';
import { claim, submit } from '../cycles.js';
import { harnessOn, type Implementation } from '../harness.js';
import { measure } from '../load.js';

const IN_FLIGHT = 1000;

/** Completes a plan of this many tasks, closes the log with a snapshot, and prints the memory that it took. */
async function write(dist: string, root: string, tasks: number): Promise<object> {
  const { Coordinator } = await import(`${dist}/coordinator/index.js`);
  const { openFileStore } = await import(`${dist}/stores/file/file-store.js`);
  const implementation: Implementation = { Coordinator };
  const store = await openFileStore({ root });
  const harness = await harnessOn(store, root, 1, tasks, { implementation });
  await measure(tasks, IN_FLIGHT, async (index) => {
    await claim(harness, index);
    await submit(harness, index);
  });
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  harness.coordinator.close();
  await store.close();
  return { project: harness.tasks[0]?.project, memory_bytes: heapUsed + external };
}

/** Prints the cost of a restart: from a cold store to the first answered query. */
async function open(dist: string, root: string, project: ProjectKey): Promise<object> {
  const { Coordinator } = await import(`${dist}/coordinator/index.js`);
  const { openFileStore } = await import(`${dist}/stores/file/file-store.js`);
  const startMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const store = await openFileStore({ root });
  const coordinator = await Coordinator.open({ store });
  const queries = coordinator.queries ?? coordinator;
  const state = await queries.getTaskState(project, 'AAA-001-work');
  if (!('generation' in state)) throw new Error(JSON.stringify(state));
  const { user, system } = process.cpuUsage(cpuBefore);
  const cost = { cpu_ms: (user + system) / 1000, wall_ms: performance.now() - startMs };
  coordinator.close();
  await store.close();
  return { open: cost };
}

const [, , mode = '', dist = '', root = '', argument = ''] = process.argv;
const printed =
  mode === 'write'
    ? await write(dist, root, Number(argument))
    : await open(dist, root, JSON.parse(argument) as ProjectKey);
console.log(JSON.stringify(printed));
