import { expect } from './expect.js';
import { eventOf, range, type StoreFixture, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

const FOREVER = Number.POSITIVE_INFINITY;

export function describeDurability(fixture: () => StoreFixture): void {
  describe('opening and closing', () => {
    it('keeps its incarnation and its secret of 32 bytes', async () => {
      const meta = await fixture().store.meta();
      expect(meta.incarnation).toBeGreaterThanOrEqual(1);
      expect(meta.secret).toMatch(/^[0-9a-f]{64}$/);
      expect(await fixture().store.meta()).toEqual(meta);
      await fixture().reopen();
      expect(await fixture().store.meta()).toEqual(meta);
    });

    it('raises its incarnation durably, and never lowers it', async () => {
      const { incarnation, secret } = await fixture().store.meta();
      const meta = { incarnation: incarnation + 5, secret };
      expect(await fixture().store.raiseIncarnation(incarnation + 5)).toEqual(meta);
      expect(await fixture().store.raiseIncarnation(incarnation + 4)).toEqual(meta);
      await fixture().expectCommitted({ swaps: [fixture().swap('~a')] });
      await fixture().reopen();
      expect(await fixture().store.meta()).toEqual(meta);
    });

    it('declares itself durable exactly if it can be reopened', () => {
      expect(fixture().store.capabilities.durable).toBe(fixture().canReopen);
    });

    it('allows closing twice', async () => {
      await fixture().expectCommitted({ swaps: [fixture().swap('~a')] });
      await fixture().store.close();
      await fixture().store.close();
    });

    it('returns the same data after it is reopened', async () => {
      await fillProject(fixture());
      const before = await contentsOf(fixture());
      await fixture().reopen();
      expect(await contentsOf(fixture())).toEqual(before);
    });

    it('continues where it stopped each time it is reopened', async () => {
      await fillProject(fixture());
      for (const seq of [2, 3]) {
        await fixture().reopen();
        await expectRemembered(fixture());
        const { position } = (await fixture().store.project(fixture().projectKey)) ?? { position: 0 };
        const { positions } = await fixture().expectCommitted({
          swaps: [fixture().swap('~s1', seq)],
          rules_seq: 1,
        });
        expect(positions).toEqual([position + 1]);
      }
    });

    it('remembers the permit, the request and the rules change of a transaction without events', async () => {
      const looseEvent = eventOf(fixture().projectKey, {});
      await fixture().expectCommitted({ loose_events: [looseEvent] });
      const permits = [{ scope: 'work', member: 'm', until_ms: FOREVER }];
      const requests = [{ key: 'k', digest: 'd', keep: true, reply: 7 }];
      const { positions } = await fixture().expectCommitted({
        loose_events: [looseEvent],
        permits,
        requests,
        changes_rules: true,
      });
      expect(positions).toEqual([null]);
      await fixture().reopen();
      expect(await fixture().store.project(fixture().projectKey)).toEqual({ position: 1, rules_seq: 1 });
      expect(await fixture().store.countPermits(fixture().tenant_id, 'work')).toBe(1);
      expect(await fixture().commit({ requests })).toMatchObject({
        kind: 'replay',
        request: { reply: 7, positions: [] },
      });
    });

    it('lets permits expire while it is closed', async () => {
      const until_ms = (await fixture().store.now()) + 20;
      const permits = [
        { scope: 'work', member: 'short', until_ms },
        { scope: 'work', member: 'long', until_ms: until_ms + 3_600_000 },
      ];
      await fixture().expectCommitted({ swaps: [fixture().swap('~a')], permits });
      await fixture().advanceClock(25);
      await fixture().reopen();
      expect(await fixture().store.countPermits(fixture().tenant_id, 'work')).toBe(1);
    });

    it('does not move its time back when it is reopened', async () => {
      const { now_ms } = await fixture().expectCommitted({ swaps: [fixture().swap('~a')] });
      await fixture().reopen();
      expect(await fixture().store.now()).toBeGreaterThanOrEqual(now_ms);
    });
  });
}

/** Swaps twenty heads twice each, with loose events, permits and requests. The last transaction releases one permit. */
async function fillProject(fixture: StoreFixture): Promise<void> {
  const { projectKey, store } = fixture;
  await store.commit(
    range(1, 20).flatMap((n) => [
      transactionOf(projectKey, { swaps: [fixture.swap(`~s${n}`)], changes_rules: n === 1 }),
      transactionOf(projectKey, {
        swaps: [fixture.swap(`~s${n}`, 1)],
        loose_events: [eventOf(projectKey, { event_id: `note${n}`, session_id: 's1' })],
        permits: [{ scope: 'work', member: `m${n}`, until_ms: FOREVER }],
        requests: [{ key: `k${n}`, digest: 'd', keep: true, reply: { n } }],
      }),
    ]),
  );
  await fixture.expectCommitted({
    loose_events: [eventOf(projectKey, { event_id: 'last' })],
    permits: [{ scope: 'work', member: 'm20', until_ms: null }],
  });
}

async function contentsOf({ store, projectKey, tenant_id }: StoreFixture): Promise<unknown> {
  return {
    row: await store.project(projectKey),
    projects: await store.projects(tenant_id),
    heads: await store.scanHeads(projectKey, { after: null, limit: 1000 }),
    events: await store.events(projectKey, { after: 0, limit: 1000 }),
    of_subject: await store.events(projectKey, { after: 0, limit: 1000, subject: '~s7' }),
    of_session: await store.events(projectKey, { after: 0, limit: 1000, session_id: 's1' }),
    live_permits: await store.countPermits(tenant_id, 'work'),
  };
}

/** Shows with commits that the store remembers requests, loose events and permits. */
async function expectRemembered(fixture: StoreFixture): Promise<void> {
  expect(await fixture.commit({ requests: [{ key: 'k2', digest: 'd', keep: true }] })).toMatchObject({
    kind: 'replay',
    request: { key: 'k2', digest: 'd', reply: { n: 2 }, positions: [5, 6] },
  });
  const looseEvent = eventOf(fixture.projectKey, { event_id: 'note2' });
  expect((await fixture.expectCommitted({ loose_events: [looseEvent] })).positions).toEqual([null]);
  const takePermit = (member: string) => ({
    loose_events: [eventOf(fixture.projectKey, {})],
    permits: [{ scope: 'work', member, until_ms: FOREVER }],
    permit_limits: [{ scope: 'work', max: 19 }],
  });
  expect((await fixture.commit(takePermit('m20'))).kind).toBe('full');
  expect((await fixture.commit(takePermit('m1'))).kind).toBe('committed');
}
