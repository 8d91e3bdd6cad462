import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Coordinator, systemEnvironment } from '../../src/coordinator/index.js';
import { openWithoutTimeouts } from '../../src/stores/testing/open-without-timeouts.js';
import { ENGINE_NAMES, onSharedEngine } from '../../src/stores/testing/shared-engine.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { EngineFleet } from './fleet.js';

const [A, B, C] = ['A-001-core', 'B-001-data', 'C-001-api'] as const;
const POLL_MS = 20;

for (const name of ENGINE_NAMES) {
  await onSharedEngine(name, ({ url }) => {
    describe(`a coordinator that starts on ${name}, without a command`, () => {
      // req: LSE-014, MET-006
      test('records the end of a lease, and knows the numbers of projects with claims', async () => {
        const fleet = await EngineFleet.open(url, 1);
        const { project } = fleet;
        await fleet.plan(planOf(A, B, C));
        const idle = { ...project, project_id: 'idle' };
        unwrap(await fleet.coordinatorAt(0).plans.put(idle, planOf(A)));
        const claim = async (task_id: string, lease_duration_seconds: number) =>
          unwrap(
            await fleet
              .coordinatorAt(0)
              .claimTask(project, { task_id, agent_id: 'alpha', session_id: 's1', lease_duration_seconds }),
          );
        await claim(A, 3600);
        const short = await claim(B, 1);
        fleet.coordinatorAt(0).close();
        await fleet.waitUntilExpired(short.claim?.expires_at);

        const store = await openWithoutTimeouts(url);
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
          (await restarted.projectCounts()).filter(({ key }) => key.tenant_id === project.tenant_id);
        let counts = await ownCounts();
        // The projects of other tests in this engine are loaded too.
        while (counts.length === 0) {
          await pause(POLL_MS);
          counts = await ownCounts();
        }
        expect(counts).toEqual([
          {
            key: project,
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
    });
  });
}
