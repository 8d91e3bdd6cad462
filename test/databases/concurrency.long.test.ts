import { describe, expect, test } from 'vitest';
import { Coordinator, systemEnvironment } from '../../src/coordinator/index.js';
import { skipGroup } from '../../src/stores/testing/on-database.js';
import { DATABASE_NAMES, onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { DatabaseFleet, GROWING_LEASES_SECONDS } from './fleet.js';

const COORDINATORS = 3;
const HOUR_MS = 3_600_000;
const CLAIMS_MAX = 5;
const by = (index: number) => ({ agent_id: `agent-${index}`, session_id: `s-${index}` });
const idOf = (index: number) => `A-${String(index + 1).padStart(3, '0')}-work`;
const tasks = (count: number) => Array.from({ length: count }, (_, index) => idOf(index));

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, ({ url }) => {
    describe(`three coordinators over one ${name}`, () => {
      test('grant each task once, however many agents claim it concurrently', async () => {
        const fleet = await DatabaseFleet.open(url, COORDINATORS);
        await fleet.plan(planOf(...tasks(20)));
        const claims = tasks(20).flatMap((task_id) =>
          Array.from({ length: 6 }, (_, index) =>
            fleet.coordinatorAt(index).claims.claimTask(fleet.projectKey, { task_id, ...by(index) }),
          ),
        );
        const replies = (await Promise.all(claims)).map(unwrap);
        expect(replies.filter(({ reason }) => reason === 'GRANTED')).toHaveLength(20);
        expect(new Set(replies.map(({ reason }) => reason))).toEqual(
          new Set(['GRANTED', 'DENIED_ACTIVE_CLAIM']),
        );
        const events = await fleet.events();
        expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1));
        const granted = events.filter(({ event_type }) => event_type === 'CLAIM_ACQUIRED');
        expect(granted.map(({ generation }) => generation)).toEqual(Array(20).fill(1));
      });

      test('never exceed the claim limit, and an expired claim frees its permit without a sweep', async () => {
        const { fleet, replies } = await expiringClaims(url);
        expect(replies.filter(({ success }) => success)).toHaveLength(CLAIMS_MAX);
        expect(replies.find(({ success }) => !success)).toMatchObject({
          reason: 'DENIED_LIMIT',
          limit: 'max_concurrent_claims',
        });
        await fleet.waitUntilExpired(
          replies
            .flatMap(({ claim }) => claim?.expires_at ?? [])
            .sort()
            .at(-1),
        );
        const again = await claimAll(fleet);
        expect(again.filter(({ success }) => success)).toHaveLength(CLAIMS_MAX);
        expect(await fleet.store.countPermits(fleet.projectKey.tenant_id, 'claims')).toBe(CLAIMS_MAX);
        const granted = (await fleet.events()).filter(({ event_type }) => event_type === 'CLAIM_ACQUIRED');
        expect(granted).toHaveLength(2 * CLAIMS_MAX);
      });

      test('deliver every event exactly once to a concurrent reader of the feed', async () => {
        const fleet = await DatabaseFleet.open(url, COORDINATORS);
        await fleet.plan(planOf(...tasks(60)));
        const lastPosition = (await fleet.events()).length;
        const readPositions: number[] = [];
        let areClaimsDone = false;
        const reading = (async () => {
          for (let after = lastPosition; ; ) {
            const wereClaimsDone = areClaimsDone;
            const events = await fleet.stores[1]!.events(fleet.projectKey, { after, limit: 7 });
            readPositions.push(...events.map(({ position }) => position));
            after = events.at(-1)?.position ?? after;
            if (wereClaimsDone && events.length === 0) return;
          }
        })();
        await Promise.all(
          tasks(60).map((task_id, index) =>
            fleet.coordinatorAt(index).claims.claimTask(fleet.projectKey, { task_id, ...by(index) }),
          ),
        );
        areClaimsDone = true;
        await reading;
        const { position } = (await fleet.store.project(fleet.projectKey))!;
        expect(readPositions).toEqual(
          Array.from({ length: position - lastPosition }, (_, index) => lastPosition + 1 + index),
        );
      });

      if (name === 'dynamodb') skipGroup(name, 'leases on DynamoDB use the coordinator’s own clock');
      else
        test('neither steal nor lose a claim if the clock of one is an hour off', async () => {
          for (const offMs of [HOUR_MS, -HOUR_MS]) {
            const fleet = await DatabaseFleet.open(url, 1);
            await fleet.plan(planOf(...tasks(2)));
            const { clock } = systemEnvironment;
            const environment = {
              ...systemEnvironment,
              clock: { ...clock, wallMs: () => clock.wallMs() + offMs },
            };
            const skewed = await Coordinator.open({ store: fleet.store, environment });
            const [firstTask, secondTask] = tasks(2) as [string, string];
            unwrap(
              await fleet
                .coordinatorAt(0)
                .claims.claimTask(fleet.projectKey, { task_id: firstTask, ...by(1) }),
            );
            expect(
              await skewed.claims.claimTask(fleet.projectKey, { task_id: firstTask, ...by(2) }),
            ).toMatchObject({
              reason: 'DENIED_ACTIVE_CLAIM',
            });
            expect(
              await skewed.claims.claimTask(fleet.projectKey, { task_id: secondTask, ...by(2) }),
            ).toMatchObject({
              success: true,
            });
            expect(
              await fleet
                .coordinatorAt(0)
                .claims.claimTask(fleet.projectKey, { task_id: secondTask, ...by(3) }),
            ).toMatchObject({
              reason: 'DENIED_ACTIVE_CLAIM',
            });
            expect(
              await skewed.holder.renewLease(fleet.projectKey, {
                task_id: secondTask,
                session_id: 's-2',
                expected_generation: 1,
              }),
            ).toMatchObject({ reason: 'RENEWED' });
            skewed.close();
          }
        });
    });
  });
}

const claimAll = async (fleet: DatabaseFleet, lease?: { lease_duration_seconds: number }) => {
  const claims = tasks(30).map((task_id, index) =>
    fleet.coordinatorAt(index).claims.claimTask(fleet.projectKey, { task_id, ...by(index), ...lease }),
  );
  return (await Promise.all(claims)).map(unwrap);
};

/** Thirty concurrent claims, all answered before the first lease expires. */
async function expiringClaims(url: string) {
  for (const lease_duration_seconds of GROWING_LEASES_SECONDS) {
    const fleet = await DatabaseFleet.open(url, COORDINATORS, {
      limits: { max_concurrent_claims: CLAIMS_MAX },
    });
    // No coordinator timer may help: permits must become free through time alone.
    for (const coordinator of fleet.coordinators) coordinator.close();
    await fleet.plan(planOf(...tasks(30)));
    const replies = await claimAll(fleet, { lease_duration_seconds });
    const ends = replies.flatMap(({ claim }) => claim?.expires_at ?? []).map((iso) => Date.parse(iso));
    if ((await fleet.store.now()) < Math.min(...ends)) return { fleet, replies };
  }
  throw new Error('Thirty claims were not answered within the longest lease.');
}
