import { expect } from './expect.js';
import { kindsOf, range, type StoreFixture, swapOf, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

export function describeHeads(fixture: () => StoreFixture): void {
  describe('heads', () => {
    describeSwaps(fixture);
    describeConflicts(fixture);
    describeTransactions(fixture);
    describeScan(fixture);
  });
}

function describeSwaps(fixture: () => StoreFixture): void {
  // req: STO-008
  it('creates a head that did not exist, and returns it unchanged', async () => {
    const swap = fixture().swap('~a');
    const outcome = await fixture().expectCommitted({ swaps: [swap] });
    expect(outcome.positions).toEqual([1]);
    expect(await fixture().head('~a')).toEqual(swap.head);
  });

  it('advances a head by the number of events in the swap', async () => {
    await fixture().expectCommitted({ swaps: [fixture().swap('~a', 0, 3)] });
    const second = fixture().swap('~a', 3, 2);
    expect((await fixture().expectCommitted({ swaps: [second] })).positions).toEqual([4, 5]);
    expect(await fixture().head('~a')).toEqual(second.head);
  });

  it('returns heads in the requested order, with null for a missing one', async () => {
    const swaps = [fixture().swap('~a'), fixture().swap('~b')];
    await fixture().expectCommitted({ swaps });
    const heads = await fixture().store.heads(fixture().projectKey, ['~b', '~none', '~a', '~b']);
    expect(heads).toEqual([swaps[1]?.head, null, swaps[0]?.head, swaps[1]?.head]);
    expect(await fixture().store.heads(fixture().projectKey, [])).toEqual([]);
  });

  it('swaps several heads in one transaction, with positions in the order of the swaps', async () => {
    const swaps = [fixture().swap('~b', 0, 2), fixture().swap('~a')];
    expect((await fixture().expectCommitted({ swaps })).positions).toEqual([1, 2, 3]);
    const events = await fixture().store.events(fixture().projectKey, { after: 0, limit: 10 });
    expect(events.map((event) => event.subject)).toEqual(['~b', '~b', '~a']);
  });

  it('commits a transaction of sixty swaps', async () => {
    const swaps = range(1, 60).map((n) => fixture().swap(`~s${n}`));
    expect((await fixture().expectCommitted({ swaps })).positions).toEqual(range(1, 60));
  });
}

function describeConflicts(fixture: () => StoreFixture): void {
  // req: STO-009
  it.each([
    ['no head', 0],
    ['an older head', 1],
    ['a newer head', 3],
  ])('refuses a swap that expects %s, and returns the current head', async (_, expectedSeq) => {
    const storedSwap = fixture().swap('~a', 0, 2);
    await fixture().expectCommitted({ swaps: [storedSwap] });
    const outcome = await fixture().commit({ swaps: [fixture().swap('~a', expectedSeq)] });
    expect(outcome).toMatchObject({ kind: 'conflict', heads: [{ subject: '~a', head: storedSwap.head }] });
    expect(await fixture().head('~a')).toEqual(storedSwap.head);
    expect(await fixture().store.project(fixture().projectKey)).toMatchObject({ position: 2 });
  });

  it('returns null in the conflict if the expected head does not exist', async () => {
    const outcome = await fixture().commit({ swaps: [fixture().swap('~a', 1)] });
    expect(outcome).toMatchObject({ kind: 'conflict', heads: [{ subject: '~a', head: null }], rules_seq: 0 });
  });

  it('returns in a conflict the heads of all swaps and then of all checks, also of those that match', async () => {
    const [a, b] = [fixture().swap('~a'), fixture().swap('~b')];
    await fixture().expectCommitted({ swaps: [a, b] });
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

  it('accepts checks that match, and does not change their heads', async () => {
    const storedSwap = fixture().swap('~a');
    await fixture().expectCommitted({ swaps: [storedSwap] });
    const checks = [
      { subject: '~a', expected_seq: 1 },
      { subject: '~none', expected_seq: 0 },
    ];
    expect((await fixture().expectCommitted({ swaps: [fixture().swap('~b')], checks })).positions).toEqual([
      2,
    ]);
    expect(await fixture().head('~a')).toEqual(storedSwap.head);
    expect(await fixture().head('~none')).toBeNull();
  });

  it.each([
    ['a missing head', { subject: '~none', expected_seq: 1 }],
    ['a head with another seq', { subject: '~a', expected_seq: 2 }],
    ['a head that should not exist', { subject: '~a', expected_seq: 0 }],
  ])('refuses a transaction whose check fails on %s', async (_, check) => {
    await fixture().expectCommitted({ swaps: [fixture().swap('~a')] });
    expect(await fixture().commit({ swaps: [fixture().swap('~b')], checks: [check] })).toMatchObject({
      kind: 'conflict',
    });
    expect(await fixture().head('~b')).toBeNull();
  });
}

function describeTransactions(fixture: () => StoreFixture): void {
  // req: STO-010
  it('applies nothing of a transaction if one of its swaps fails', async () => {
    await fixture().expectCommitted({ swaps: [fixture().swap('~taken')] });
    const outcome = await fixture().commit({
      swaps: [fixture().swap('~a'), fixture().swap('~taken'), fixture().swap('~b')],
      changes_rules: true,
      permits: [{ scope: 'work', member: 'm', until_ms: Number.POSITIVE_INFINITY }],
    });
    expect(outcome.kind).toBe('conflict');
    expect(await fixture().store.heads(fixture().projectKey, ['~a', '~b'])).toEqual([null, null]);
    expect(await fixture().store.project(fixture().projectKey)).toEqual({ position: 1, rules_seq: 0 });
    expect(await fixture().store.countPermits(fixture().tenant_id, 'work')).toBe(0);
  });

  // req: STO-021
  it('applies transactions in order, each seeing those before it, and returns one outcome each', async () => {
    const { projectKey, store } = fixture();
    const outcomes = await store.commit([
      transactionOf(projectKey, { swaps: [fixture().swap('~a')] }),
      transactionOf(projectKey, { swaps: [fixture().swap('~a')] }),
      transactionOf(projectKey, {
        swaps: [fixture().swap('~a', 1)],
        checks: [{ subject: '~b', expected_seq: 0 }],
      }),
      transactionOf(projectKey, {
        swaps: [fixture().swap('~b')],
        checks: [{ subject: '~a', expected_seq: 2 }],
      }),
    ]);
    expect(kindsOf(outcomes)).toEqual(['committed', 'conflict', 'committed', 'committed']);
    expect(outcomes[3]).toMatchObject({ positions: [3] });
  });

  it('returns in a conflict the head that an earlier transaction of the same commit wrote', async () => {
    const { projectKey, store } = fixture();
    const first = fixture().swap('~a');
    const [, second] = await store.commit([
      transactionOf(projectKey, { swaps: [first] }),
      transactionOf(projectKey, { swaps: [fixture().swap('~a')] }),
    ]);
    expect(second).toMatchObject({ kind: 'conflict', heads: [{ subject: '~a', head: first.head }] });
  });

  it('returns outcomes in the order of the transactions across projects and tenants', async () => {
    const projectKeys = [
      fixture().keyOf('x'),
      fixture().keyOf('y'),
      fixture().keyOf('x'),
      fixture().keyOf('x', `${fixture().tenant_id}-2`),
    ];
    const outcomes = await fixture().store.commit(
      projectKeys.map((projectKey) => transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] })),
    );
    expect(kindsOf(outcomes)).toEqual(['committed', 'committed', 'conflict', 'committed']);
  });

  it('returns an outcome for an empty transaction, and none for an empty commit', async () => {
    expect(await fixture().commit({})).toMatchObject({ kind: 'committed', positions: [], rules_seq: 0 });
    expect(await fixture().store.commit([])).toEqual([]);
  });

  // req: CLM-004, STO-008
  it('commits one of twenty concurrent first swaps, and returns its head to the others', async () => {
    const swaps = range(1, 20).map(() => fixture().swap('~contested'));
    const outcomes = await Promise.all(swaps.map((swap) => fixture().commit({ swaps: [swap] })));
    expect(kindsOf(outcomes).filter((kind) => kind === 'committed')).toHaveLength(1);
    const winner = swaps[kindsOf(outcomes).indexOf('committed')];
    for (const outcome of outcomes) {
      if (outcome.kind === 'conflict') expect(outcome.heads[0]?.head).toEqual(winner?.head);
    }
    const events = await fixture().store.events(fixture().projectKey, { after: 0, limit: 10 });
    expect(events.map((event) => event.event_id)).toEqual([winner?.events[0]?.event_id]);
  });
}

function describeScan(fixture: () => StoreFixture): void {
  it('scans heads in the order of their subjects, page by page', async () => {
    // In code-unit order: a collation that folds case or punctuation would page differently.
    const subjects = ['~B', '~Z', '~a', '~a#1', '~a/2', '~a::1', '~aa', '~b', '~é'];
    const swaps = [...subjects].reverse().map((subject) => fixture().swap(subject));
    await fixture().expectCommitted({ swaps });
    const scannedSubjects: string[] = [];
    let after: string | null = null;
    for (let page = 0; page < 5; page += 1) {
      const heads = await fixture().store.scanHeads(fixture().projectKey, { after, limit: 2 });
      expect(heads.length).toBe(page < 4 ? 2 : 1);
      scannedSubjects.push(...heads.map((head) => head.subject));
      after = scannedSubjects.at(-1) as string;
    }
    expect(scannedSubjects).toEqual(subjects);
    expect(await fixture().store.scanHeads(fixture().projectKey, { after, limit: 2 })).toEqual([]);
  });

  it('scans the current heads, starting after a subject that need not exist', async () => {
    await fixture().expectCommitted({ swaps: [fixture().swap('~a'), fixture().swap('~c')] });
    const newer = fixture().swap('~c', 1);
    await fixture().expectCommitted({ swaps: [newer] });
    expect(await fixture().store.scanHeads(fixture().projectKey, { after: '~b', limit: 10 })).toEqual([
      newer.head,
    ]);
  });
}
