import { Coordinator } from '../src/coordinator/index.js';
import { openFileStore } from '../src/stores/file/file-store.js';

/** A process of its own, as a restart is: from a cold store to the first answered question. Prints milliseconds. */
const [root = '', tenant_id = '', project_id = '', taskId = ''] = process.argv.slice(2);
const beganMs = performance.now();
const store = await openFileStore({ root });
const coordinator = await Coordinator.open({ store });
const state = await coordinator.queries.getTaskState({ tenant_id, project_id }, taskId);
if (!('generation' in state)) throw new Error(JSON.stringify(state));
console.log(performance.now() - beganMs);
coordinator.close();
await store.close();
