import { readFile } from 'node:fs/promises';
import { Coordinator, isProblem } from 'genesis-fleet/coordinator';
import { openFileStore } from 'genesis-fleet/stores/file';

const store = await openFileStore({ root: '.genesis/log' }); // the log of `gen up`, which must not run meanwhile
const fleet = await Coordinator.open({ store });
const shop = { tenant_id: 'default', project_id: 'shop' };

await fleet.plans.put(shop, await readFile('examples/plan.yaml', 'utf8'));
const work = await fleet.claims.next(shop, { agent_id: 'agent-beta', session_id: 'sess-1' });
if (isProblem(work)) console.log(work.detail);
else if (work.claim === null) console.log(work.reason, work.next);
else {
  const { task_id, session_id, generation, id: claim_id } = work.claim;
  const made = { about: work.briefing?.description }; // long work calls renewLease meanwhile
  const handle = { task_id, session_id, generation, claim_id };
  console.log(task_id, await fleet.holder.submitResult(shop, { ...handle, result_data: made }));
}

fleet.close();
await store.close();
