import { expect, onTestFinished, test } from 'vitest';
import {
  CoordinatorHarness,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { ManualEnvironment } from '../../../test/support/manual-environment.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import { RoutedStore } from '../../stores/routed-store.js';
import { Coordinator } from '../coordinator.js';

const UNKNOWN_ID = 'nothing-here';
const loadedIds = async (harness: CoordinatorHarness) =>
  (await harness.coordinator.projectCounts()).map(({ key }) => key.project_id);

test('a project without events is not kept in memory after a request names it', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const { coordinator } = harness;
  const key = { ...PROJECT_KEY, project_id: UNKNOWN_ID };
  const calls = Array.from({ length: 20 }, () => [
    coordinator.queries.status(key),
    coordinator.claims.claimTask(key, { task_id: 'A-001-x', agent_id: 'a', session_id: 's' }),
    coordinator.plans.get(key),
  ]);
  await Promise.all(calls.flat());
  expect(await loadedIds(harness)).toEqual([]);
});

test('a listener receives the first event of an empty project, and the project stays loaded after it', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const { coordinator } = harness;
  const listenController = new AbortController();
  const feed = coordinator.feed.follow(PROJECT_KEY, '', listenController.signal);
  const firstEvent = feed.next();
  expect(await coordinator.plans.get(PROJECT_KEY)).toMatchObject({ problem: 'UNKNOWN_PROJECT' });
  unwrap(await coordinator.plans.put(PROJECT_KEY, planOf('A-001-x')));
  expect((await firstEvent).value?.event.position).toBe(1);
  listenController.abort();
  await feed.return(undefined);
  expect(await loadedIds(harness)).toEqual([PROJECT_KEY.project_id]);
});

test('the clock margin of a store without a clock applies only to the tenants of that store', async () => {
  const world = new ManualEnvironment('2026-01-04T06:00:00.000Z');
  const main = openMemoryStore({ clock: world.clock });
  const own = openMemoryStore({ clock: world.clock });
  Object.defineProperty(own, 'capabilities', { value: { ...own.capabilities, clock: 'coordinator' } });
  const routeOf = (tenantId: string) => (tenantId === PROJECT_KEY.tenant_id ? 'own' : 'main');
  const store = await RoutedStore.open('main', routeOf, async (url) => (url === 'own' ? own : main));
  const coordinator = await Coordinator.open({ store, environment: world });
  onTestFinished(() => coordinator.close());
  const reasonsAfterTheLease = async (tenant_id: string) => {
    const project = { ...PROJECT_KEY, tenant_id };
    const claim = (name: string) =>
      coordinator.claims.claimTask(project, { task_id: 'A-001-x', agent_id: name, session_id: `s-${name}` });
    unwrap(await coordinator.plans.put(project, planOf('A-001-x')));
    const { claim: held } = unwrap(await claim('alpha'));
    world.advance(held?.lease_duration_seconds ?? 0);
    const first = unwrap(await claim('beta')).reason;
    world.advance(1);
    return [first, unwrap(await claim('beta')).reason];
  };
  expect(await reasonsAfterTheLease(PROJECT_KEY.tenant_id)).toEqual(['DENIED_ACTIVE_CLAIM', 'GRANTED']);
  expect(await reasonsAfterTheLease('globex')).toEqual(['GRANTED', 'DENIED_ACTIVE_CLAIM']);
});
