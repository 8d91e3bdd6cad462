import type { ProjectKey } from '../../src/stores/store.js';
import { claim, submit } from '../cycles.js';
import { harnessOn, type Implementation } from '../harness.js';
import { measure } from '../load.js';

const IN_FLIGHT = 1000;

/** Completes a plan of this many tasks and closes the log with a snapshot. Returns the memory used before the close. */
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

/** Returns the cost of a restart, from opening the store to the first answered query. */
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

const [, , mode = '', dist = '', root = '', tasksOrProject = ''] = process.argv;
const result =
  mode === 'write'
    ? await write(dist, root, Number(tasksOrProject))
    : await open(dist, root, JSON.parse(tasksOrProject) as ProjectKey);
console.log(JSON.stringify(result));
