import { describe, expect, it } from 'vitest';
import { eventOf, type Scene, swapOf, swapWith, unitOf } from './scene.js';

export function describeIsolation(scene: () => Scene): void {
  describe('tenants and projects', () => {
    it('do not exist before something is written: reading and being refused make none', async () => {
      const { project, store, tenant_id } = scene();
      await store.events(project, { after: 0, limit: 10 });
      await store.heads(project, ['~a']);
      await store.scanHeads(project, { after: null, limit: 10 });
      await store.occupancy(tenant_id, 'work');
      expect((await scene().commit({ swaps: [scene().swap('~a', 5)] })).kind).toBe('conflict');
      expect((await scene().commit({ not_after_ms: 0 })).kind).toBe('late');
      expect(await store.project(project)).toBeNull();
      expect(await store.projects(tenant_id)).toEqual([]);
    });

    it('are listed by name', async () => {
      for (const name of ['b', 'a', 'C', 'c', 'a-1', '_tenant']) {
        const key = scene().key(name);
        await scene().committed({ swaps: [swapOf(key, '~a', 0)] }, key);
      }
      expect(await scene().store.projects(scene().tenant_id)).toEqual(['C', '_tenant', 'a', 'a-1', 'b', 'c']);
      expect(await scene().store.projects(`${scene().tenant_id}-2`)).toEqual([]);
    });

    it.each([
      ['another tenant', (here: Scene) => here.key('p', `${here.tenant_id}-2`)],
      ['another project', (here: Scene) => here.key('q')],
      ['a project whose name differs in case', (here: Scene) => here.key('P')],
    ])('keep what has the same ids in %s apart', async (_, place) => {
      const here = scene().project;
      const there = place(scene());
      const [mine, theirs] = [swapOf(here, '~a', 0, 2), swapOf(there, '~a', 0)];
      const note = { event_id: 'same' };
      await scene().committed({ swaps: [mine], notes: [eventOf(here, note)], changes_rules: true }, here);
      expect(await scene().store.project(there)).toBeNull();
      expect(await scene().head('~a', there)).toBeNull();
      const outcome = await scene().committed(
        { swaps: [theirs], notes: [eventOf(there, note)], rules_seq: 0 },
        there,
      );
      expect(outcome).toMatchObject({ positions: [1, 2], rules_seq: 0 });
      expect(await scene().head('~a', here)).toEqual(mine.head);
      expect(await scene().store.scanHeads(there, { after: null, limit: 9 })).toEqual([theirs.head]);
      const events = await scene().store.events(there, { after: 0, limit: 9, subject: '~a' });
      expect(events.map((event) => event.event_id)).toEqual([theirs.events[0]?.event_id]);
      expect(await scene().store.project(here)).toEqual({ position: 3, rules_seq: 1 });
    });

    it('of other tenants do not know a request', async () => {
      const there = scene().key('p', `${scene().tenant_id}-2`);
      const requests = [{ key: 'k', digest: 'd', keep: true }];
      await scene().committed({ swaps: [scene().swap('~a')], requests });
      await scene().committed({ swaps: [swapOf(there, '~a', 0)], requests }, there);
    });

    it('come to no harm from names that objects have', async () => {
      for (const name of ['__proto__', 'constructor', 'toString']) await expectOrdinary(scene(), name);
      expect(({} as { seq?: number }).seq).toBeUndefined();
    });
  });
}

/** A subject, scope, member, request key, note id and session of this name is like any other. */
async function expectOrdinary(scene: Scene, name: string): Promise<void> {
  const { project, store, tenant_id } = scene;
  expect(await scene.head(name)).toBeNull();
  expect(await store.occupancy(tenant_id, name)).toBe(0);
  expect(await store.events(project, { after: 0, limit: 9, subject: name })).toEqual([]);
  const swap = swapWith(name, 0, [eventOf(project, { subject: name, seq: 1, session_id: name })]);
  const unit = unitOf(project, {
    swaps: [swap],
    notes: [eventOf(project, { event_id: name })],
    requests: [{ key: name, digest: 'd', keep: true }],
    slots: [{ scope: name, member: name, until_ms: Number.POSITIVE_INFINITY }],
    rooms: [{ scope: name, max: 1 }],
  });
  const outcomes = await store.commit([unit, unit]);
  expect(outcomes).toMatchObject([{ kind: 'committed' }, { kind: 'replay', request: { key: name } }]);
  expect(await scene.head(name)).toEqual(swap.head);
  expect(await store.occupancy(tenant_id, name)).toBe(1);
  for (const query of [{ subject: name }, { session_id: name }]) {
    const found = await store.events(project, { after: 0, limit: 9, ...query });
    expect(found.map((event) => event.event_id)).toEqual([swap.events[0]?.event_id]);
  }
  expect((await scene.committed({ notes: [eventOf(project, { event_id: name })] })).positions).toEqual([
    null,
  ]);
}
