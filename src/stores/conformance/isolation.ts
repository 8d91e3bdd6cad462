import { expect } from './expect.js';
import { eventOf, type StoreFixture, swapOf, swapWith, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

export function describeIsolation(fixture: () => StoreFixture): void {
  describe('tenants and projects', () => {
    it('do not exist before the first write: reads and refused commits create none', async () => {
      const { projectKey, store, tenant_id } = fixture();
      await store.events(projectKey, { after: 0, limit: 10 });
      await store.heads(projectKey, ['~a']);
      await store.scanHeads(projectKey, { after: null, limit: 10 });
      await store.countPermits(tenant_id, 'work');
      expect((await fixture().commit({ swaps: [fixture().swap('~a', 5)] })).kind).toBe('conflict');
      expect((await fixture().commit({ not_after_ms: 0 })).kind).toBe('late');
      expect(await store.project(projectKey)).toBeNull();
      expect(await store.projects(tenant_id)).toEqual([]);
    });

    it('are listed in the order of their names', async () => {
      for (const name of ['b', 'a', 'C', 'c', 'a-1', '_tenant']) {
        const projectKey = fixture().keyOf(name);
        await fixture().expectCommitted({ swaps: [swapOf(projectKey, '~a', 0)] }, projectKey);
      }
      expect(await fixture().store.projects(fixture().tenant_id)).toEqual([
        'C',
        '_tenant',
        'a',
        'a-1',
        'b',
        'c',
      ]);
      expect(await fixture().store.projects(`${fixture().tenant_id}-2`)).toEqual([]);
    });

    // req: TEN-002
    it.each([
      [
        'another tenant',
        (storeFixture: StoreFixture) => storeFixture.keyOf('p', `${storeFixture.tenant_id}-2`),
      ],
      ['another project', (storeFixture: StoreFixture) => storeFixture.keyOf('q')],
      ['a project whose name differs in case', (storeFixture: StoreFixture) => storeFixture.keyOf('P')],
    ])('are isolated from the same ids in %s', async (_, projectFor) => {
      const ownProject = fixture().projectKey;
      const otherProject = projectFor(fixture());
      const [mine, theirs] = [swapOf(ownProject, '~a', 0, 2), swapOf(otherProject, '~a', 0)];
      const looseEvent = { event_id: 'same' };
      await fixture().expectCommitted(
        { swaps: [mine], loose_events: [eventOf(ownProject, looseEvent)], changes_rules: true },
        ownProject,
      );
      expect(await fixture().store.project(otherProject)).toBeNull();
      expect(await fixture().head('~a', otherProject)).toBeNull();
      const outcome = await fixture().expectCommitted(
        { swaps: [theirs], loose_events: [eventOf(otherProject, looseEvent)], rules_seq: 0 },
        otherProject,
      );
      expect(outcome).toMatchObject({ positions: [1, 2], rules_seq: 0 });
      expect(await fixture().head('~a', ownProject)).toEqual(mine.head);
      expect(await fixture().store.scanHeads(otherProject, { after: null, limit: 9 })).toEqual([theirs.head]);
      const events = await fixture().store.events(otherProject, { after: 0, limit: 9, subject: '~a' });
      expect(events.map((event) => event.event_id)).toEqual([theirs.events[0]?.event_id]);
      expect(await fixture().store.project(ownProject)).toEqual({ position: 3, rules_seq: 1 });
    });

    // req: STO-022
    it('do not share requests between tenants', async () => {
      const otherProject = fixture().keyOf('p', `${fixture().tenant_id}-2`);
      const requests = [{ key: 'k', digest: 'd', keep: true }];
      await fixture().expectCommitted({ swaps: [fixture().swap('~a')], requests });
      await fixture().expectCommitted({ swaps: [swapOf(otherProject, '~a', 0)], requests }, otherProject);
    });

    it('accept the names of object members, such as __proto__', async () => {
      for (const name of ['__proto__', 'constructor', 'toString']) await expectToWorkAsUsual(fixture(), name);
      expect(({} as { seq?: number }).seq).toBeUndefined();
    });
  });
}

/** A subject, scope, member, request key, loose event id or session of this name works like any other. */
async function expectToWorkAsUsual(fixture: StoreFixture, name: string): Promise<void> {
  const { projectKey, store, tenant_id } = fixture;
  expect(await fixture.head(name)).toBeNull();
  expect(await store.countPermits(tenant_id, name)).toBe(0);
  expect(await store.events(projectKey, { after: 0, limit: 9, subject: name })).toEqual([]);
  const swap = swapWith(name, 0, [eventOf(projectKey, { subject: name, seq: 1, session_id: name })]);
  const transaction = transactionOf(projectKey, {
    swaps: [swap],
    loose_events: [eventOf(projectKey, { event_id: name })],
    requests: [{ key: name, digest: 'd', keep: true }],
    permits: [{ scope: name, member: name, until_ms: Number.POSITIVE_INFINITY }],
    permit_limits: [{ scope: name, max: 1 }],
  });
  const outcomes = await store.commit([transaction, transaction]);
  expect(outcomes).toMatchObject([{ kind: 'committed' }, { kind: 'replay', request: { key: name } }]);
  expect(await fixture.head(name)).toEqual(swap.head);
  expect(await store.countPermits(tenant_id, name)).toBe(1);
  for (const query of [{ subject: name }, { session_id: name }]) {
    const matching = await store.events(projectKey, { after: 0, limit: 9, ...query });
    expect(matching.map((event) => event.event_id)).toEqual([swap.events[0]?.event_id]);
  }
  expect(
    (await fixture.expectCommitted({ loose_events: [eventOf(projectKey, { event_id: name })] })).positions,
  ).toEqual([null]);
}
