import { describe, expect, it } from 'vitest';
import { eventOf, range, type Scene, unitOf } from './scene.js';

const FOREVER = Number.POSITIVE_INFINITY;

export function describeDurability(scene: () => Scene): void {
  describe('opening and closing', () => {
    it('has an incarnation and a secret of 32 bytes that stay what they are', async () => {
      const meta = await scene().store.meta();
      expect(meta.incarnation).toBeGreaterThanOrEqual(1);
      expect(meta.secret).toMatch(/^[0-9a-f]{64}$/);
      expect(await scene().store.meta()).toEqual(meta);
      await scene().reopen();
      expect(await scene().store.meta()).toEqual(meta);
    });

    it('declares itself durable exactly when it can be opened again', () => {
      expect(scene().store.capabilities.durable).toBe(scene().canReopen);
    });

    it('may be closed twice', async () => {
      await scene().committed({ swaps: [scene().swap('~a')] });
      await scene().store.close();
      await scene().store.close();
    });

    it('shows the same after it is opened again', async () => {
      await fill(scene());
      const before = await everythingOf(scene());
      await scene().reopen();
      expect(await everythingOf(scene())).toEqual(before);
    });

    it('goes on where it was after it is opened again, and again', async () => {
      await fill(scene());
      for (const seq of [2, 3]) {
        await scene().reopen();
        await expectMemory(scene());
        const { position } = (await scene().store.project(scene().project)) ?? { position: 0 };
        const { positions } = await scene().committed({ swaps: [scene().swap('~s1', seq)], rules_seq: 1 });
        expect(positions).toEqual([position + 1]);
      }
    });

    it('remembers what a unit without events did: its place, its request, its change of rules', async () => {
      const note = eventOf(scene().project, {});
      await scene().committed({ notes: [note] });
      const slots = [{ scope: 'work', member: 'm', until_ms: FOREVER }];
      const requests = [{ key: 'k', digest: 'd', keep: true, reply: 7 }];
      const { positions } = await scene().committed({ notes: [note], slots, requests, changes_rules: true });
      expect(positions).toEqual([null]);
      await scene().reopen();
      expect(await scene().store.project(scene().project)).toEqual({ position: 1, rules_seq: 1 });
      expect(await scene().store.occupancy(scene().tenant_id, 'work')).toBe(1);
      expect(await scene().commit({ requests })).toMatchObject({
        kind: 'replay',
        request: { reply: 7, positions: [] },
      });
    });

    it('lets go of places by time also while it is closed', async () => {
      const until_ms = (await scene().store.now()) + 20;
      const slots = [
        { scope: 'work', member: 'short', until_ms },
        { scope: 'work', member: 'long', until_ms: until_ms + 3_600_000 },
      ];
      await scene().committed({ swaps: [scene().swap('~a')], slots });
      await scene().pass(25);
      await scene().reopen();
      expect(await scene().store.occupancy(scene().tenant_id, 'work')).toBe(1);
    });

    it('does not run its time back when it is opened again', async () => {
      const { now_ms } = await scene().committed({ swaps: [scene().swap('~a')] });
      await scene().reopen();
      expect(await scene().store.now()).toBeGreaterThanOrEqual(now_ms);
    });
  });
}

/** Twenty subjects moved twice, with a note, places and a request; the last unit frees one place. */
async function fill(scene: Scene): Promise<void> {
  const { project, store } = scene;
  await store.commit(
    range(1, 20).flatMap((n) => [
      unitOf(project, { swaps: [scene.swap(`~s${n}`)], changes_rules: n === 1 }),
      unitOf(project, {
        swaps: [scene.swap(`~s${n}`, 1)],
        notes: [eventOf(project, { event_id: `note${n}`, session_id: 's1' })],
        slots: [{ scope: 'work', member: `m${n}`, until_ms: FOREVER }],
        requests: [{ key: `k${n}`, digest: 'd', keep: true, reply: { n } }],
      }),
    ]),
  );
  await scene.committed({
    notes: [eventOf(project, { event_id: 'last' })],
    slots: [{ scope: 'work', member: 'm20', until_ms: null }],
  });
}

async function everythingOf({ store, project, tenant_id }: Scene): Promise<unknown> {
  return {
    row: await store.project(project),
    projects: await store.projects(tenant_id),
    heads: await store.scanHeads(project, { after: null, limit: 1000 }),
    events: await store.events(project, { after: 0, limit: 1000 }),
    of_subject: await store.events(project, { after: 0, limit: 1000, subject: '~s7' }),
    of_session: await store.events(project, { after: 0, limit: 1000, session_id: 's1' }),
    occupied: await store.occupancy(tenant_id, 'work'),
  };
}

/** Requests, notes and places are remembered, which only a commit can show. */
async function expectMemory(scene: Scene): Promise<void> {
  expect(await scene.commit({ requests: [{ key: 'k2', digest: 'd', keep: true }] })).toMatchObject({
    kind: 'replay',
    request: { key: 'k2', digest: 'd', reply: { n: 2 }, positions: [5, 6] },
  });
  const note = eventOf(scene.project, { event_id: 'note2' });
  expect((await scene.committed({ notes: [note] })).positions).toEqual([null]);
  const take = (member: string) => ({
    notes: [eventOf(scene.project, {})],
    slots: [{ scope: 'work', member, until_ms: FOREVER }],
    rooms: [{ scope: 'work', max: 19 }],
  });
  expect((await scene.commit(take('m20'))).kind).toBe('full');
  expect((await scene.commit(take('m1'))).kind).toBe('committed');
}
