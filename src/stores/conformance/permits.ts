import type { CommitOutcome, Permit, ProjectKey } from '../store.js';
import { expect } from './expect.js';
import { eventOf, kindsOf, range, type StoreFixture, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

const FOREVER = Number.POSITIVE_INFINITY;
const HOUR_MS = 3_600_000;

/** Every transaction here has an event, as every real transaction that takes a permit does. */
export function describePermits(fixture: () => StoreFixture): void {
  describe('permits', () => {
    const permitFixture = new PermitFixture(fixture);
    describeLimits(fixture, permitFixture);
    describeExpiry(fixture, permitFixture);
    describeScopes(fixture, permitFixture);
  });
}

class PermitFixture {
  constructor(private readonly fixture: () => StoreFixture) {}

  permit(member: string, until_ms: number | null, scope = 'work'): Permit {
    return { scope, member, until_ms };
  }

  /** Takes permits while the scope `work` is limited to `max`. */
  take(
    permits: readonly Permit[],
    max: number,
    projectKey: ProjectKey = this.fixture().projectKey,
  ): Promise<CommitOutcome> {
    const looseEvents = [eventOf(projectKey, {})];
    return this.fixture().commit(
      { loose_events: looseEvents, permits, permit_limits: [{ scope: 'work', max }] },
      projectKey,
    );
  }

  async count(scope = 'work'): Promise<number> {
    return this.fixture().store.countPermits(this.fixture().tenant_id, scope);
  }
}

function describeLimits(fixture: () => StoreFixture, permitFixture: PermitFixture): void {
  it('are granted up to the limit, and a transaction beyond it is refused with the name of the scope', async () => {
    for (const member of ['m1', 'm2']) {
      expect((await permitFixture.take([permitFixture.permit(member, FOREVER)], 2)).kind).toBe('committed');
    }
    const outcome = await fixture().commit({
      swaps: [fixture().swap('~a')],
      permits: [permitFixture.permit('m3', FOREVER)],
      permit_limits: [{ scope: 'work', max: 2 }],
    });
    expect(outcome).toMatchObject({ kind: 'full', scope: 'work' });
    expect(await fixture().head('~a')).toBeNull();
    expect(await permitFixture.count()).toBe(2);
  });

  it('are available again after a release, and releasing a free one does nothing', async () => {
    await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1);
    expect(
      (await permitFixture.take([permitFixture.permit('m1', null), permitFixture.permit('nobody', null)], 1))
        .kind,
    ).toBe('committed');
    expect(await permitFixture.count()).toBe(0);
    expect((await permitFixture.take([permitFixture.permit('m2', FOREVER)], 1)).kind).toBe('committed');
  });

  it('are renewed at the limit for a member that holds one', async () => {
    await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1);
    expect((await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1)).kind).toBe('committed');
    expect(await permitFixture.count()).toBe(1);
  });

  it('stay with their members when the limit is lowered, and no new member gets one', async () => {
    await permitFixture.take(
      [
        permitFixture.permit('m1', FOREVER),
        permitFixture.permit('m2', FOREVER),
        permitFixture.permit('m3', FOREVER),
      ],
      3,
    );
    expect((await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1)).kind).toBe('committed');
    expect((await permitFixture.take([permitFixture.permit('m4', FOREVER)], 1)).kind).toBe('full');
    expect((await permitFixture.take([permitFixture.permit('m3', null)], 1)).kind).toBe('committed');
    expect(await permitFixture.count()).toBe(2);
  });

  it('of one transaction are granted all or none', async () => {
    await permitFixture.take([permitFixture.permit('m1', FOREVER)], 2);
    expect(
      (
        await permitFixture.take(
          [permitFixture.permit('m2', FOREVER), permitFixture.permit('m3', FOREVER)],
          2,
        )
      ).kind,
    ).toBe('full');
    expect(await permitFixture.count()).toBe(1);
  });

  it('that a transaction releases are available to the same transaction', async () => {
    await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1);
    expect(
      (await permitFixture.take([permitFixture.permit('m2', FOREVER), permitFixture.permit('m1', null)], 1))
        .kind,
    ).toBe('committed');
    expect(await permitFixture.count()).toBe(1);
  });

  it('are refused to several transactions of one batch, each under its own limit', async () => {
    const transactions = [2, 1].map((max) =>
      transactionOf(fixture().projectKey, {
        loose_events: [eventOf(fixture().projectKey, {})],
        permits: ['m1', 'm2', 'm3'].map((member) => permitFixture.permit(`${member} of ${max}`, FOREVER)),
        permit_limits: [{ scope: 'work', max }],
      }),
    );
    expect(kindsOf(await fixture().store.commit(transactions))).toEqual(['full', 'full']);
    expect(await permitFixture.count()).toBe(0);
  });

  it('need no limit, and a full scope does not affect transactions that take no permit in it', async () => {
    const looseEvents = [eventOf(fixture().projectKey, {})];
    await fixture().expectCommitted({
      loose_events: looseEvents,
      permits: [permitFixture.permit('m1', FOREVER), permitFixture.permit('m2', FOREVER)],
    });
    expect((await permitFixture.take([], 0)).kind).toBe('committed');
    expect((await permitFixture.take([permitFixture.permit('m1', FOREVER, 'elsewhere')], 0)).kind).toBe(
      'committed',
    );
    expect((await permitFixture.take([permitFixture.permit('m3', FOREVER)], 0)).kind).toBe('full');
  });

  it('are visible to later transactions of the same commit', async () => {
    const { projectKey, store } = fixture();
    const outcomes = await store.commit(
      range(1, 3).map((n) =>
        transactionOf(projectKey, {
          loose_events: [eventOf(projectKey, {})],
          permits: [permitFixture.permit(`m${n}`, FOREVER)],
          permit_limits: [{ scope: 'work', max: 2 }],
        }),
      ),
    );
    expect(kindsOf(outcomes)).toEqual(['committed', 'committed', 'full']);
  });

  it('never exceed the limit under concurrent requests from several projects', async () => {
    const outcomes = await Promise.all(
      range(1, 30).map((n) =>
        permitFixture.take([permitFixture.permit(`m${n}`, FOREVER)], 5, fixture().keyOf(`p${n % 3}`)),
      ),
    );
    expect(kindsOf(outcomes).filter((kind) => kind === 'committed')).toHaveLength(5);
    expect(kindsOf(outcomes).filter((kind) => kind === 'full')).toHaveLength(25);
    expect(await permitFixture.count()).toBe(5);
  });
}

function describeExpiry(fixture: () => StoreFixture, permitFixture: PermitFixture): void {
  it('expire without a release, and a member whose permit has expired needs a free one again', async () => {
    const untilMs = (await fixture().store.now()) + 20;
    await permitFixture.take([permitFixture.permit('m1', untilMs)], 1);
    await fixture().advanceClock(25);
    expect(await permitFixture.count()).toBe(0);
    expect((await permitFixture.take([permitFixture.permit('m2', FOREVER)], 1)).kind).toBe('committed');
    expect((await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1)).kind).toBe('full');
  });

  it('are held until their expiry time, and free from then on', async () => {
    const untilMs = (await fixture().store.now()) + 20;
    await permitFixture.take([permitFixture.permit('m1', untilMs)], 1);
    let nowMs = 0;
    while (nowMs <= untilMs) {
      const outcome = await permitFixture.take([permitFixture.permit('m2', untilMs + HOUR_MS)], 1);
      expect(outcome.kind).toBe(outcome.now_ms < untilMs ? 'full' : 'committed');
      nowMs = outcome.now_ms;
      await fixture().advanceClock(1);
    }
  });

  it('that have already expired are not taken', async () => {
    const nowMs = await fixture().store.now();
    expect(
      (
        await permitFixture.take(
          [permitFixture.permit('m1', nowMs), permitFixture.permit('m2', nowMs - HOUR_MS)],
          0,
        )
      ).kind,
    ).toBe('committed');
    expect(await permitFixture.count()).toBe(0);
  });

  it('expire at the time that was set last, earlier or later', async () => {
    const nowMs = await fixture().store.now();
    await permitFixture.take(
      [permitFixture.permit('longer', nowMs + 20), permitFixture.permit('shorter', nowMs + HOUR_MS)],
      9,
    );
    await permitFixture.take(
      [permitFixture.permit('longer', nowMs + HOUR_MS), permitFixture.permit('shorter', nowMs + 20)],
      9,
    );
    await fixture().advanceClock(25);
    expect(await permitFixture.count()).toBe(1);
    expect((await permitFixture.take([permitFixture.permit('longer', FOREVER)], 1)).kind).toBe('committed');
    expect((await permitFixture.take([permitFixture.permit('shorter', FOREVER)], 1)).kind).toBe('full');
  });

  it('without an expiry time are held until they are released', async () => {
    await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1);
    await fixture().advanceClock(5);
    expect(await permitFixture.count()).toBe(1);
    await permitFixture.take([permitFixture.permit('m1', (await fixture().store.now()) + 5)], 1);
    await fixture().advanceClock(10);
    expect(await permitFixture.count()).toBe(0);
  });
}

function describeScopes(fixture: () => StoreFixture, permitFixture: PermitFixture): void {
  it('are counted per scope, and the full scope is named', async () => {
    await permitFixture.take(
      [permitFixture.permit('m1', FOREVER, 'a'), permitFixture.permit('m1', FOREVER, 'b')],
      0,
    );
    const outcome = await fixture().commit({
      loose_events: [eventOf(fixture().projectKey, {})],
      permits: [permitFixture.permit('m2', FOREVER, 'a'), permitFixture.permit('m2', FOREVER, 'b')],
      permit_limits: [
        { scope: 'a', max: 2 },
        { scope: 'b', max: 1 },
      ],
    });
    expect(outcome).toMatchObject({ kind: 'full', scope: 'b' });
    expect([
      await permitFixture.count('a'),
      await permitFixture.count('b'),
      await permitFixture.count('none'),
    ]).toEqual([1, 1, 0]);
  });

  it('are counted across all projects of a tenant, with distinct members per project', async () => {
    const [one, two] = [fixture().keyOf('one'), fixture().keyOf('two')];
    expect((await permitFixture.take([permitFixture.permit('same', FOREVER)], 1, one)).kind).toBe(
      'committed',
    );
    expect((await permitFixture.take([permitFixture.permit('same', FOREVER)], 1, two)).kind).toBe('full');
    expect((await permitFixture.take([permitFixture.permit('same', FOREVER)], 2, two)).kind).toBe(
      'committed',
    );
    expect(await permitFixture.count()).toBe(2);
    await permitFixture.take([permitFixture.permit('same', null)], 2, two);
    expect(await permitFixture.count()).toBe(1);
    expect((await permitFixture.take([permitFixture.permit('same', FOREVER)], 1, one)).kind).toBe(
      'committed',
    );
  });

  it('of another tenant are not counted', async () => {
    const other = fixture().keyOf('p', `${fixture().tenant_id}-2`);
    await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1);
    expect((await permitFixture.take([permitFixture.permit('m1', FOREVER)], 1, other)).kind).toBe(
      'committed',
    );
    expect(await permitFixture.count()).toBe(1);
  });
}
