import { expect, onTestFinished, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { ManualEnvironment } from '../../../test/support/manual-environment.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import { RoutedStore } from '../../stores/routed-store.js';
import { type ProjectKey, type Store, StoreUnavailable } from '../../stores/store.js';
import { Coordinator } from '../coordinator.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** Far more than a busy disk needs: the bound ends a test that would never end. */
const ROUNDS_MAX = 100_000;
const NOTE = 'a remark of the first';

const projectNamed = (project_id: string): ProjectKey => ({ ...PROJECT_KEY, project_id });

/** Claims the task, and returns the fields of its handle, which the later commands of the holder name. */
async function claimA(coordinator: Coordinator, projectKey: ProjectKey, session_id: string) {
  const body = { task_id: A, agent_id: 'alpha', session_id };
  const { claim } = unwrap(await coordinator.claims.claimTask(projectKey, body));
  return { task_id: A, session_id, claim_id: claim?.id, generation: claim?.generation };
}

/** Leaves a note in a first generation, and an accepted result in a second one. */
async function workIn(coordinator: Coordinator, projectKey: ProjectKey): Promise<void> {
  unwrap(await coordinator.plans.put(projectKey, planOf(A, B)));
  const first = await claimA(coordinator, projectKey, 's1');
  unwrap(await coordinator.holder.note(projectKey, { ...first, text: NOTE }));
  const { generation: expected_generation, ...handle } = first;
  unwrap(
    await coordinator.holder.releaseClaim(projectKey, {
      ...handle,
      expected_generation,
      reason: 'VOLUNTARY',
    }),
  );
  const second = await claimA(coordinator, projectKey, 's2');
  const submission = { ...second, result_data: { kept: 'for ever' } };
  expect(await coordinator.holder.submitResult(projectKey, submission)).toMatchObject({ accepted: true });
}

const hasNote = async (store: Store, projectKey: ProjectKey = PROJECT_KEY): Promise<boolean> =>
  JSON.stringify(await store.events(projectKey, { after: 0, limit: 1000 })).includes(NOTE);

const loadedProjects = async (harness: CoordinatorHarness): Promise<string[]> =>
  (await harness.coordinator.projectCounts()).map(({ key }) => key.project_id).sort();

/** Records the projects for which a method of the store is called from now on. */
function recordCalls(store: Store, member: 'events' | 'scanHeads' | 'openLog'): string[] {
  const calls: string[] = [];
  const original = (store as Partial<Record<typeof member, (...args: unknown[]) => unknown>>)[member];
  if (original === undefined) return calls;
  const recordCall = (key: ProjectKey, ...args: unknown[]) => {
    calls.push(key.project_id);
    return original.call(store, key, ...args);
  };
  Object.assign(store, { [member]: recordCall });
  return calls;
}

/** Runs the timers that are due until the note is gone. */
async function untilRedacted(
  { environment, store }: CoordinatorHarness,
  projectKey = PROJECT_KEY,
): Promise<void> {
  for (let round = 0; await hasNote(store, projectKey); round += 1) {
    if (round === ROUNDS_MAX) throw new Error('The note was not redacted.');
    environment.runDueTimers();
    await environment.yieldToEventLoop();
  }
}

forEachStore('retention of unused projects', (open, name) => {
  async function restartedAfter(days: number, projects: readonly ProjectKey[] = [PROJECT_KEY]) {
    const harness = await open();
    for (const projectKey of projects) await workIn(harness.coordinator, projectKey);
    harness.coordinator.close();
    harness.advance(days * DAY_S);
    await harness.restart();
    await harness.coordinator.waitForClaimedProjects();
    expect(await loadedProjects(harness)).toEqual([]);
    return harness;
  }

  // req: LIM-004
  test('begins an hour after a restart, without a command', async () => {
    const harness = await restartedAfter(91);
    const eventReads = recordCalls(harness.store, 'events');
    harness.advance(HOUR_S - 1);
    harness.environment.runDueTimers();
    await harness.environment.yieldToEventLoop();
    expect(eventReads).toEqual([]);
    harness.advance(1);
    await untilRedacted(harness);
    expect(JSON.stringify(await harness.events())).toContain('for ever');
  });

  test('unloads the project again, and the limits of its tenant', async () => {
    const harness = await restartedAfter(91);
    expect(await harness.coordinator.redactIdleHistory()).toBe(1);
    expect(await hasNote(harness.store)).toBe(false);
    const eventReads = recordCalls(harness.store, 'events');
    // Runs retention in the loaded projects only: no project is loaded, so nothing is read.
    await harness.coordinator.redactHistory();
    expect(eventReads).toEqual([]);
    expect(await harness.coordinator.queries.getTaskState(PROJECT_KEY, A)).toMatchObject({
      phase: 'COMPLETED',
    });
    expect(await loadedProjects(harness)).toEqual([PROJECT_KEY.project_id]);
  });

  test('does not load a project without old events', async () => {
    const harness = await restartedAfter(89, [PROJECT_KEY, projectNamed('other')]);
    const loads = [recordCalls(harness.store, 'scanHeads'), recordCalls(harness.store, 'openLog')];
    expect(await harness.coordinator.redactIdleHistory()).toBe(0);
    expect(loads.flat()).toEqual([]);
    harness.advance(2 * DAY_S);
    expect(await harness.coordinator.redactIdleHistory()).toBe(2);
    expect(loads.flat()).toEqual(expect.arrayContaining(['other', PROJECT_KEY.project_id]));
  });

  test('follows the limits of the tenant and the policy of the project', async () => {
    const harness = await open();
    const [short, long] = [projectNamed('short'), projectNamed('long')];
    await workIn(harness.coordinator, short);
    await workIn(harness.coordinator, long);
    const { settings } = harness.coordinator;
    unwrap(
      await settings.putLimits(
        PROJECT_KEY.tenant_id,
        { claim_history_retention_days: 10 },
        personCaller('admin'),
      ),
    );
    unwrap(await settings.putPolicy(long, { compliance_profile: 'soc2' }, personCaller('admin')));
    harness.advance(11 * DAY_S);
    await harness.restart();
    expect(await harness.coordinator.redactIdleHistory()).toBe(1);
    expect([await hasNote(harness.store, short), await hasNote(harness.store, long)]).toEqual([false, true]);
  });

  test('leaves a project loaded if a command uses it during the round', async () => {
    const harness = await restartedAfter(91, [PROJECT_KEY, projectNamed('other')]);
    const { redact } = harness.store;
    harness.store.redact = async (key, events) => {
      if (key.project_id === PROJECT_KEY.project_id)
        unwrap(
          await harness.coordinator.claims.claimTask(PROJECT_KEY, {
            task_id: B,
            agent_id: 'gamma',
            session_id: 's3',
          }),
        );
      await redact.call(harness.store, key, events);
    };
    expect(await harness.coordinator.redactIdleHistory()).toBe(2);
    expect(await loadedProjects(harness)).toEqual([PROJECT_KEY.project_id]);
  });

  test('continues with other projects if one fails, and tries that one again an hour later', async () => {
    const harness = await restartedAfter(91, [projectNamed('a'), projectNamed('b'), projectNamed('c')]);
    const { events } = harness.store;
    harness.store.events = (key, query) =>
      key.project_id === 'b'
        ? Promise.reject(new StoreUnavailable('down'))
        : events.call(harness.store, key, query);
    harness.advance(HOUR_S);
    await untilRedacted(harness, projectNamed('c'));
    // Joins the round, if it is not over.
    await harness.coordinator.redactIdleHistory();
    harness.store.events = events;
    expect(await hasNote(harness.store, projectNamed('a'))).toBe(false);
    expect(await hasNote(harness.store, projectNamed('b'))).toBe(true);
    harness.advance(HOUR_S);
    await untilRedacted(harness, projectNamed('b'));
  });

  test('does not read unchanged projects again', async () => {
    const harness = await restartedAfter(91);
    expect(await harness.coordinator.redactIdleHistory()).toBe(1);
    harness.advance(DAY_S);
    const eventReads = recordCalls(harness.store, 'events');
    const loads = [recordCalls(harness.store, 'scanHeads'), recordCalls(harness.store, 'openLog')];
    expect(await harness.coordinator.redactIdleHistory()).toBe(0);
    // The only read checks whether more events have become old.
    expect([eventReads.length, loads.flat()]).toEqual([1, []]);
    // Now the record of the redaction is old too.
    harness.advance(91 * DAY_S);
    await harness.coordinator.redactIdleHistory();
    eventReads.length = 0;
    await harness.coordinator.redactIdleHistory();
    expect(eventReads).toEqual([]);
  });

  test('ends when the coordinator is closed', async () => {
    const harness = await restartedAfter(91, [projectNamed('a'), projectNamed('b')]);
    const { redact } = harness.store;
    harness.store.redact = async (key, events) => {
      harness.coordinator.close();
      await redact.call(harness.store, key, events);
    };
    expect(await harness.coordinator.redactIdleHistory()).toBe(1);
    expect(await hasNote(harness.store, projectNamed('b'))).toBe(true);
  });

  if (name === 'file') return;

  test('leaves a project loaded if another coordinator has granted a claim in it', async () => {
    const harness = await restartedAfter(91);
    const other = await harness.openAnother();
    unwrap(await other.claims.claimTask(PROJECT_KEY, { task_id: B, agent_id: 'gamma', session_id: 's3' }));
    expect(await harness.coordinator.redactIdleHistory()).toBe(1);
    expect(await loadedProjects(harness)).toEqual([PROJECT_KEY.project_id]);
  });

  test('examines all events of a project again after another coordinator has changed it', async () => {
    const harness = await open();
    unwrap(await harness.coordinator.plans.put(PROJECT_KEY, planOf(A)));
    const agent = new HarnessAgent(harness, 'alpha', 's1');
    await agent.claim(A, { metadata: { said: NOTE } });
    await agent.release(A);
    harness.advance(91 * DAY_S);
    await harness.restart();
    // The metadata belongs to the current generation, so it is kept.
    expect(await harness.coordinator.redactIdleHistory()).toBe(0);
    const other = await harness.openAnother();
    unwrap(await other.claims.claimTask(PROJECT_KEY, { task_id: A, agent_id: 'gamma', session_id: 's3' }));
    expect(await harness.coordinator.redactIdleHistory()).toBe(1);
    expect(await hasNote(harness.store)).toBe(false);
  });
});

test('retention of unused projects runs in the stores that can be reached', async () => {
  const environment = new ManualEnvironment('2026-01-04T06:00:00.000Z');
  const { clock } = environment;
  const stores = { main: openMemoryStore({ clock }), own: openMemoryStore({ clock }) };
  const routeOf = (tenantId: string) => (tenantId === PROJECT_KEY.tenant_id ? 'main' : tenantId);
  const open = async (url: string) => {
    const store = stores[url as keyof typeof stores];
    if (store === undefined) throw new StoreUnavailable('down');
    return store;
  };
  const openCoordinator = async () => {
    const store = await RoutedStore.open('main', routeOf, open, ['lost', 'own']);
    const coordinator = await Coordinator.open({ store, environment });
    onTestFinished(() => coordinator.close());
    return coordinator;
  };
  const ownProject = { ...PROJECT_KEY, tenant_id: 'own' };
  const firstCoordinator = await openCoordinator();
  await workIn(firstCoordinator, PROJECT_KEY);
  await workIn(firstCoordinator, ownProject);
  firstCoordinator.close();
  environment.advance(91 * DAY_S);
  const coordinator = await openCoordinator();
  expect(await coordinator.redactIdleHistory()).toBe(2);
  expect(await hasNote(stores.main)).toBe(false);
  expect(await hasNote(stores.own, ownProject)).toBe(false);
});
