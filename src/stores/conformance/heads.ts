import { describe, expect, it } from 'vitest';
import { kindsOf, range, type StoreFixture, swapOf, transactionOf } from './fixture.js';

export function describeHeads(fixture: () => StoreFixture): void {
  describe('heads', () => {
    describeSwaps(fixture);
    describeConflicts(fixture);
    describeUnits(fixture);
    describeScan(fixture);
  });
}

function describeSwaps(fixture: () => StoreFixture): void {
  it('makes a head where there was none, and shows it whole', async () => {
    const swap = fixture().swap('~a');
    const outcome = await fixture().committed({ swaps: [swap] });
    expect(outcome.positions).toEqual([1]);
    expect(await fixture().head('~a')).toEqual(swap.head);
  });

  it('moves a head on by as many events as the swap has', async () => {
    await fixture().committed({ swaps: [fixture().swap('~a', 0, 3)] });
    const second = fixture().swap('~a', 3, 2);
    expect((await fixture().committed({ swaps: [second] })).positions).toEqual([4, 5]);
    expect(await fixture().head('~a')).toEqual(second.head);
  });

  it('shows heads in the order asked, with null where there is none', async () => {
    const swaps = [fixture().swap('~a'), fixture().swap('~b')];
    await fixture().committed({ swaps });
    const heads = await fixture().store.heads(fixture().project, ['~b', '~none', '~a', '~b']);
    expect(heads).toEqual([swaps[1]?.head, null, swaps[0]?.head, swaps[1]?.head]);
    expect(await fixture().store.heads(fixture().project, [])).toEqual([]);
  });

  it('swaps several heads in one unit, with positions in the order of the swaps', async () => {
    const swaps = [fixture().swap('~b', 0, 2), fixture().swap('~a')];
    expect((await fixture().committed({ swaps })).positions).toEqual([1, 2, 3]);
    const events = await fixture().store.events(fixture().project, { after: 0, limit: 10 });
    expect(events.map((event) => event.subject)).toEqual(['~b', '~b', '~a']);
  });

  it('takes a unit of sixty swaps', async () => {
    const swaps = range(1, 60).map((n) => fixture().swap(`~s${n}`));
    expect((await fixture().committed({ swaps })).positions).toEqual(range(1, 60));
  });
}

function describeConflicts(fixture: () => StoreFixture): void {
  it.each([
    ['none where there is one', 0],
    ['an older one', 1],
    ['a newer one', 3],
  ])('refuses a swap that expects %s, and shows the head that is there', async (_, expectedSeq) => {
    const there = fixture().swap('~a', 0, 2);
    await fixture().committed({ swaps: [there] });
    const outcome = await fixture().commit({ swaps: [fixture().swap('~a', expectedSeq)] });
    expect(outcome).toMatchObject({ kind: 'conflict', heads: [{ subject: '~a', head: there.head }] });
    expect(await fixture().head('~a')).toEqual(there.head);
    expect(await fixture().store.project(fixture().project)).toMatchObject({ position: 2 });
  });

  it('shows null where a head is expected and there is none', async () => {
    const outcome = await fixture().commit({ swaps: [fixture().swap('~a', 1)] });
    expect(outcome).toMatchObject({ kind: 'conflict', heads: [{ subject: '~a', head: null }], rules_seq: 0 });
  });

  it('shows the heads of every swap and then of every check, also of those that hold', async () => {
    const [a, b] = [fixture().swap('~a'), fixture().swap('~b')];
    await fixture().committed({ swaps: [a, b] });
    const outcome = await fixture().commit({
      swaps: [fixture().swap('~b', 1), fixture().swap('~c', 7)],
      checks: [
        { subject: '~none', expected_seq: 0 },
        { subject: '~a', expected_seq: 1 },
      ],
    });
    expect(outcome.kind === 'conflict' && outcome.heads).toEqual([
      { subject: '~b', head: b.head },
      { subject: '~c', head: null },
      { subject: '~none', head: null },
      { subject: '~a', head: a.head },
    ]);
  });

  it('lets checks that hold pass without moving their heads', async () => {
    const there = fixture().swap('~a');
    await fixture().committed({ swaps: [there] });
    const checks = [
      { subject: '~a', expected_seq: 1 },
      { subject: '~none', expected_seq: 0 },
    ];
    expect((await fixture().committed({ swaps: [fixture().swap('~b')], checks })).positions).toEqual([2]);
    expect(await fixture().head('~a')).toEqual(there.head);
    expect(await fixture().head('~none')).toBeNull();
  });

  it.each([
    ['an absent head', { subject: '~none', expected_seq: 1 }],
    ['a moved head', { subject: '~a', expected_seq: 2 }],
    ['a head expected absent', { subject: '~a', expected_seq: 0 }],
  ])('refuses a unit whose check fails on %s', async (_, check) => {
    await fixture().committed({ swaps: [fixture().swap('~a')] });
    expect(await fixture().commit({ swaps: [fixture().swap('~b')], checks: [check] })).toMatchObject({
      kind: 'conflict',
    });
    expect(await fixture().head('~b')).toBeNull();
  });
}

function describeUnits(fixture: () => StoreFixture): void {
  it('applies nothing of a unit of which one swap fails', async () => {
    await fixture().committed({ swaps: [fixture().swap('~taken')] });
    const outcome = await fixture().commit({
      swaps: [fixture().swap('~a'), fixture().swap('~taken'), fixture().swap('~b')],
      changes_rules: true,
      permits: [{ scope: 'work', member: 'm', until_ms: Number.POSITIVE_INFINITY }],
    });
    expect(outcome.kind).toBe('conflict');
    expect(await fixture().store.heads(fixture().project, ['~a', '~b'])).toEqual([null, null]);
    expect(await fixture().store.project(fixture().project)).toEqual({ position: 1, rules_seq: 0 });
    expect(await fixture().store.countPermits(fixture().tenant_id, 'work')).toBe(0);
  });

  it('applies units in order, each seeing those before it, and one outcome for each', async () => {
    const { project, store } = fixture();
    const outcomes = await store.commit([
      transactionOf(project, { swaps: [fixture().swap('~a')] }),
      transactionOf(project, { swaps: [fixture().swap('~a')] }),
      transactionOf(project, {
        swaps: [fixture().swap('~a', 1)],
        checks: [{ subject: '~b', expected_seq: 0 }],
      }),
      transactionOf(project, { swaps: [fixture().swap('~b')], checks: [{ subject: '~a', expected_seq: 2 }] }),
    ]);
    expect(kindsOf(outcomes)).toEqual(['committed', 'conflict', 'committed', 'committed']);
    expect(outcomes[3]).toMatchObject({ positions: [3] });
  });

  it('shows in a conflict what a unit before it in the same commit did', async () => {
    const { project, store } = fixture();
    const first = fixture().swap('~a');
    const [, second] = await store.commit([
      transactionOf(project, { swaps: [first] }),
      transactionOf(project, { swaps: [fixture().swap('~a')] }),
    ]);
    expect(second).toMatchObject({ kind: 'conflict', heads: [{ subject: '~a', head: first.head }] });
  });

  it('answers in the order of the units when they are of several projects and tenants', async () => {
    const places = [
      fixture().key('x'),
      fixture().key('y'),
      fixture().key('x'),
      fixture().key('x', `${fixture().tenant_id}-2`),
    ];
    const outcomes = await fixture().store.commit(
      places.map((place) => transactionOf(place, { swaps: [swapOf(place, '~a', 0)] })),
    );
    expect(kindsOf(outcomes)).toEqual(['committed', 'committed', 'conflict', 'committed']);
  });

  it('has an outcome for a unit of which every part is empty, and none for no unit', async () => {
    expect(await fixture().commit({})).toMatchObject({ kind: 'committed', positions: [], rules_seq: 0 });
    expect(await fixture().store.commit([])).toEqual([]);
  });

  it('grants one of twenty racing first swaps, and shows the winner to the rest', async () => {
    const swaps = range(1, 20).map(() => fixture().swap('~contested'));
    const outcomes = await Promise.all(swaps.map((swap) => fixture().commit({ swaps: [swap] })));
    expect(kindsOf(outcomes).filter((kind) => kind === 'committed')).toHaveLength(1);
    const winner = swaps[kindsOf(outcomes).indexOf('committed')];
    for (const outcome of outcomes) {
      if (outcome.kind === 'conflict') expect(outcome.heads[0]?.head).toEqual(winner?.head);
    }
    const events = await fixture().store.events(fixture().project, { after: 0, limit: 10 });
    expect(events.map((event) => event.event_id)).toEqual([winner?.events[0]?.event_id]);
  });
}

function describeScan(fixture: () => StoreFixture): void {
  it('scans heads in the order of their subjects, a page at a time', async () => {
    // Byte order: a collation that folds case or punctuation would page differently.
    const subjects = ['~B', '~Z', '~a', '~a#1', '~a/2', '~a::1', '~aa', '~b', '~é'];
    const swaps = [...subjects].reverse().map((subject) => fixture().swap(subject));
    await fixture().committed({ swaps });
    const seen: string[] = [];
    let after: string | null = null;
    for (let page = 0; page < 5; page += 1) {
      const heads = await fixture().store.scanHeads(fixture().project, { after, limit: 2 });
      expect(heads.length).toBe(page < 4 ? 2 : 1);
      seen.push(...heads.map((head) => head.subject));
      after = seen.at(-1) as string;
    }
    expect(seen).toEqual(subjects);
    expect(await fixture().store.scanHeads(fixture().project, { after, limit: 2 })).toEqual([]);
  });

  it('scans whole heads as they are now, and starts after a subject that need not be there', async () => {
    await fixture().committed({ swaps: [fixture().swap('~a'), fixture().swap('~c')] });
    const moved = fixture().swap('~c', 1);
    await fixture().committed({ swaps: [moved] });
    expect(await fixture().store.scanHeads(fixture().project, { after: '~b', limit: 10 })).toEqual([
      moved.head,
    ]);
  });
}
