import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Coordinator, systemEnvironment } from '../../src/coordinator/index.js';
import { eventOf } from '../../src/stores/conformance/fixture.js';
import { openWithLongTimeouts } from '../../src/stores/testing/open-with-long-timeouts.js';
import { DATABASE_NAMES, onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import { transactionOf } from '../../src/stores/transaction.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { DatabaseFleet } from './fleet.js';

const [A, B, C] = ['A-001-core', 'B-001-data', 'C-001-api'] as const;
const POLL_MS = 20;
const OLD_TEXT = 'a remark of years ago';

/** Retention finds a tenant in DynamoDB only if it has had a claim. */
async function claimAndRelease(fleet: DatabaseFleet): Promise<void> {
  const session = { task_id: A, session_id: 's1' };
  const coordinator = fleet.coordinatorAt(0);
  const { claim } = unwrap(
    await coordinator.claims.claimTask(fleet.projectKey, { ...session, agent_id: 'alpha' }),
  );
  const handle = { expected_generation: claim?.generation, claim_id: claim?.id };
  unwrap(
    await coordinator.holder.releaseClaim(fleet.projectKey, { ...session, ...handle, reason: 'VOLUNTARY' }),
  );
}

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, ({ url }) => {
    describe(`a coordinator that has started on ${name} and gets no request`, () => {
      // req: LSE-014, MET-006
      test('records the end of a lease, and counts the claims and tasks of projects with claims', async () => {
        const fleet = await DatabaseFleet.open(url, 1);
        const { projectKey } = fleet;
        await fleet.plan(planOf(A, B, C));
        const idle = { ...projectKey, project_id: 'idle' };
        unwrap(await fleet.coordinatorAt(0).plans.put(idle, planOf(A)));
        const claim = async (task_id: string, lease_duration_seconds: number) =>
          unwrap(
            await fleet.coordinatorAt(0).claims.claimTask(projectKey, {
              task_id,
              agent_id: 'alpha',
              session_id: 's1',
              lease_duration_seconds,
            }),
          );
        await claim(A, 3600);
        const shortClaim = await claim(B, 1);
        fleet.coordinatorAt(0).close();
        await fleet.waitUntilExpired(shortClaim.claim?.expires_at);

        const store = await openWithLongTimeouts(url);
        const restarted = await Coordinator.open({
          store,
          blobs: store.blobs,
          environment: systemEnvironment,
        });
        onTestFinished(async () => {
          restarted.close();
          await store.close();
        });
        const ownCounts = async () =>
          (await restarted.projectCounts()).filter(({ key }) => key.tenant_id === projectKey.tenant_id);
        let counts = await ownCounts();
        // The projects of other tests in this database are loaded too.
        while (counts.length === 0) {
          await pause(POLL_MS);
          counts = await ownCounts();
        }
        expect(counts).toEqual([
          {
            key: projectKey,
            active_claims: 1,
            stale_claims: 0,
            ready_tasks: 2,
            pending_tasks: 3,
            completed_tasks: 0,
          },
        ]);
        while (
          !(await fleet.events()).some(
            ({ event_type, subject }) => event_type === 'CLAIM_LOST' && subject === B,
          )
        )
          await pause(POLL_MS);
      });

      // req: LIM-004
      test('redacts the old content of a project that nobody uses, and unloads it again', async () => {
        const fleet = await DatabaseFleet.open(url, 1);
        const { projectKey } = fleet;
        await fleet.plan(planOf(A));
        await claimAndRelease(fleet);
        // The clock of a database cannot be moved, but an event may be from the past.
        const payload = { text: OLD_TEXT };
        const note = eventOf(projectKey, { event_type: 'NOTE_ADDED', subject: A, task_id: A, payload });
        await fleet.store.commit([transactionOf(projectKey, { loose_events: [note] })]);
        fleet.coordinatorAt(0).close();

        const store = await openWithLongTimeouts(url);
        const tenantIds = await store.tenantIds();
        expect(tenantIds).toContain(projectKey.tenant_id);
        // The database has the data of other tests too.
        Object.assign(store, { tenantIds: async () => [projectKey.tenant_id] });
        const environment = systemEnvironment;
        const restarted = await Coordinator.open({ store, blobs: store.blobs, environment });
        onTestFinished(async () => {
          restarted.close();
          await store.close();
        });
        expect(await restarted.redactIdleHistory()).toBe(1);
        expect(JSON.stringify(await fleet.events())).not.toContain(OLD_TEXT);
        expect((await fleet.events()).map(({ event_type }) => event_type)).toContain('HISTORY_FORGOTTEN');
        const isOwn = ({ key }: { key: { tenant_id: string } }) => key.tenant_id === projectKey.tenant_id;
        expect((await restarted.projectCounts()).filter(isOwn)).toEqual([]);
        expect(await restarted.redactIdleHistory()).toBe(0);
      });
    });
  });
}
