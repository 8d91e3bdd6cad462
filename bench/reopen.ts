import { Coordinator } from '../src/coordinator/index.js';
import { openFileStore } from '../src/stores/file/file-store.js';

/**
 * Prints the milliseconds from opening the store to the first answered query. Runs in its own process, as a restart does.
 */
const [root = '', tenant_id = '', project_id = '', taskId = ''] = process.argv.slice(2);
const startMs = performance.now();
const store = await openFileStore({ root });
const coordinator = await Coordinator.open({ store });
const state = await coordinator.queries.getTaskState({ tenant_id, project_id }, taskId);
if (!('generation' in state)) throw new Error(JSON.stringify(state));
console.log(performance.now() - startMs);
coordinator.close();
await store.close();
