// A zombie agent returns: alice's agent falls silent, bob's takes over, and alice's late result must not count. Run this
// program with `npm run example`. It exits with 1 if a guarantee does not hold.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Coordinator, isProblem, type Problem } from 'genesis-fleet/coordinator';
import { lineageTable } from 'genesis-fleet/core';
import { openFileStore } from 'genesis-fleet/stores/file';

const PLAN = `
project: shop
tracks:
  A:
    - id: A-001-core-framework
      description: Initialize the core application framework
    - id: A-002-di-container
      description: Set up the dependency injection container
`;

const shop = { tenant_id: 'acme', project_id: 'shop' };
const task_id = 'A-001-core-framework';

function unwrap<T>(reply: T | Problem): T {
  if (isProblem(reply)) throw new Error(reply.detail);
  return reply;
}

const root = await mkdtemp(join(tmpdir(), 'genesis-example-'));
const store = await openFileStore({ root });
const fleet = await Coordinator.open({ store, limits: { min_lease_duration_seconds: 1 } });
try {
  unwrap(await fleet.plans.put(shop, PLAN));
  const lease = { task_id, lease_duration_seconds: 1 };

  const alice = unwrap(
    await fleet.claims.claimTask(shop, { ...lease, agent_id: 'agent-alice', session_id: 'sess-alice' }),
  );
  console.log(`agent-alice claims    ${alice.reason}, generation ${alice.claim?.generation}`);
  const denied = unwrap(
    await fleet.claims.claimTask(shop, { ...lease, agent_id: 'agent-bob', session_id: 'sess-bob' }),
  );
  console.log(`agent-bob claims      ${denied.reason}, held by ${denied.current_holder}`);

  console.log('agent-alice does not renew until her lease has expired …');
  await sleep(1100);

  const bob = unwrap(
    await fleet.claims.claimTask(shop, { ...lease, agent_id: 'agent-bob', session_id: 'sess-bob' }),
  );
  console.log(`agent-bob claims      ${bob.reason}, generation ${bob.claim?.generation}`);
  const submit = { task_id, result_data: { files: ['core.ts'] } };
  const accepted = unwrap(
    await fleet.holder.submitResult(shop, { ...submit, session_id: 'sess-bob', generation: 2 }),
  );
  console.log(`agent-bob submits     ${accepted.reason}, ${accepted.work_product_ref}`);

  const late = {
    task_id,
    result_data: { files: ['core.ts', 'more.ts'] },
    session_id: 'sess-alice',
    generation: 1,
  };
  const refused = unwrap(await fleet.holder.submitResult(shop, late));
  console.log(`agent-alice submits   ${refused.reason}, her work is kept as ${refused.parked}`);

  const { rows } = lineageTable(unwrap(await fleet.queries.getClaimHistory(shop, task_id)));
  console.log();
  console.table(
    rows.map(({ generation, agent, session, result }) => ({ generation, agent, session, result })),
  );
  const log = await readFile(join(root, 'acme', 'shop', 'events.jsonl'), 'utf8');
  console.log(
    `${log.trim().split('\n').length} lines in events.jsonl: events, and seals that chain blocks of events`,
  );

  const isGuaranteed = refused.reason === 'STALE_GENERATION' && refused.parked !== null && accepted.accepted;
  process.exitCode = isGuaranteed ? 0 : 1;
} finally {
  fleet.close();
  await store.close();
  await rm(root, { recursive: true, force: true });
}
