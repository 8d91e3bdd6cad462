import { Coordinator } from '../src/coordinator/index.js';
import { openFileStore } from '../src/stores/file/file-store.js';

/** A process of its own, as a restart is: from a cold store to the first answered question. Prints milliseconds. */
const [root = '', tenant_id = '', project_id = '', task_id = ''] = process.argv.slice(2);
const began_ms = performance.now();
const store = await openFileStore({ root });
const coordinator = await Coordinator.open({ store });
const state = await coordinator.queries.getTaskState({ tenant_id, project_id }, task_id);
if (!('generation' in state)) throw new Error(JSON.stringify(state));
console.log(performance.now() - began_ms);
coordinator.close();
await store.close();
