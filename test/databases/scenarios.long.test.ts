import { describe, expect, test } from 'vitest';
import { DATABASE_NAMES, onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { DatabaseFleet, GROWING_LEASES_SECONDS } from './fleet.js';

const TASK = 'A-101-build-login';
const alice = { agent_id: 'Agent-A', session_id: 'Session-1' };
const bob = { agent_id: 'Agent-B', session_id: 'Session-2' };

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, ({ url }) => {
    describe(`the generation clock of specification 004 on ${name} with two coordinators`, () => {
      async function openFleet(plan: unknown = planOf(TASK)) {
        const fleet = await DatabaseFleet.open(url, 2);
        await fleet.plan(plan);
        const { projectKey } = fleet;
        return { fleet, project: projectKey, one: fleet.coordinatorAt(0), other: fleet.coordinatorAt(1) };
      }

      /** Alice claims the task, and Bob's claim is answered before her lease expires. */
      async function deniedInTime() {
        for (const lease_duration_seconds of GROWING_LEASES_SECONDS) {
          const fixture = await openFleet();
          const { fleet, project: projectKey, one, other } = fixture;
          const first = unwrap(
            await one.claims.claimTask(projectKey, { task_id: TASK, ...alice, lease_duration_seconds }),
          );
          const denied = await other.claims.claimTask(projectKey, { task_id: TASK, ...bob });
          const isInTime = (await fleet.store.now()) < Date.parse(first.claim?.expires_at ?? '');
          if (isInTime) return { ...fixture, first, denied };
        }
        throw new Error('Two claims were not answered within the longest lease.');
      }

      test('4.1: a single agent claims, renews and completes a task', async () => {
        const { fleet, project: projectKey, one, other } = await openFleet();
        const granted = unwrap(await one.claims.claimTask(projectKey, { task_id: TASK, ...alice }));
        expect(granted).toMatchObject({ success: true, reason: 'GRANTED', claim: { generation: 1 } });
        const handle = { task_id: TASK, session_id: alice.session_id };
        expect(
          await other.holder.renewLease(projectKey, { ...handle, expected_generation: 1 }),
        ).toMatchObject({
          reason: 'RENEWED',
        });
        const result = { ...handle, generation: 1, result_data: { login: 'works' } };
        expect(await one.holder.submitResult(projectKey, result)).toMatchObject({
          accepted: true,
          late: false,
        });
        expect(await other.holder.submitResult(projectKey, result)).toMatchObject({ accepted: true });
        expect(unwrap(await other.queries.getTaskState(projectKey, TASK))).toMatchObject({
          phase: 'COMPLETED',
          generation: 1,
        });
        const taskEvents = (await fleet.events()).filter(({ subject }) => subject === TASK);
        expect(taskEvents.map(({ event_type }) => event_type)).toEqual([
          'CLAIM_ACQUIRED',
          'LEASE_RENEWED',
          'RESULT_SUBMITTED',
        ]);
      });

      test('4.2: the lease of a disconnected agent expires, and its late result is refused and parked', async () => {
        const { fleet, project: projectKey, one, other, first, denied } = await deniedInTime();
        expect(denied).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM', current_holder: 'Agent-A' });
        await fleet.waitUntilExpired(first.claim?.expires_at);
        expect(await other.claims.claimTask(projectKey, { task_id: TASK, ...bob })).toMatchObject({
          reason: 'GRANTED',
          claim: { generation: 2 },
        });
        const late = { task_id: TASK, session_id: alice.session_id, generation: 1, result_data: 'late' };
        expect(await one.holder.submitResult(projectKey, late)).toMatchObject({
          accepted: false,
          reason: 'STALE_GENERATION',
          current_generation: 2,
          parked: expect.anything(),
        });
        const result = { ...late, session_id: bob.session_id, generation: 2, result_data: 'in time' };
        expect(await other.holder.submitResult(projectKey, result)).toMatchObject({ accepted: true });
        const { generations, rejected } = unwrap(await one.queries.getClaimHistory(projectKey, TASK));
        expect(
          generations.map(({ generation, agent_id, result_accepted }) => [
            generation,
            agent_id,
            result_accepted,
          ]),
        ).toEqual([
          [1, 'Agent-A', false],
          [2, 'Agent-B', true],
        ]);
        expect(rejected).toMatchObject([{ generation: 1, agent_id: 'Agent-A' }]);
      });

      test('4.3: one of two concurrent claims is granted, and the refusal of the other names the holder', async () => {
        const { project: projectKey, one, other } = await openFleet();
        const replies = await Promise.all([
          one.claims.claimTask(projectKey, { task_id: TASK, ...alice }),
          other.claims.claimTask(projectKey, { task_id: TASK, ...bob }),
        ]);
        const winner = replies.findIndex((reply) => 'success' in reply && reply.success);
        expect(replies[winner]).toMatchObject({ reason: 'GRANTED', claim: { generation: 1 } });
        expect(replies[1 - winner]).toMatchObject({
          reason: 'DENIED_ACTIVE_CLAIM',
          current_holder: [alice, bob][winner]?.agent_id,
        });
      });

      test('4.4: subtasks are completed in parallel, and the parent is granted once all are complete', async () => {
        const { project: projectKey, one, other } = await openFleet(planOf({ id: TASK, subtasks: 2 }));
        const [a, b] = [`${TASK}::1`, `${TASK}::2`];
        for (const [coordinator, task_id, who] of [
          [one, a, alice],
          [other, b, bob],
        ] as const) {
          unwrap(await coordinator.claims.claimTask(projectKey, { task_id, ...who }));
        }
        expect(await one.claims.claimTask(projectKey, { task_id: TASK, ...alice })).toMatchObject({
          reason: 'DENIED_DEPENDENCIES',
        });
        for (const [coordinator, task_id, who] of [
          [other, a, alice],
          [one, b, bob],
        ] as const) {
          const result = { task_id, session_id: who.session_id, generation: 1, result_data: task_id };
          expect(await coordinator.holder.submitResult(projectKey, result)).toMatchObject({ accepted: true });
        }
        expect(await other.claims.claimTask(projectKey, { task_id: TASK, ...bob })).toMatchObject({
          reason: 'GRANTED',
        });
      });
    });
  });
}
