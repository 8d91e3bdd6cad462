import { createConnection } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { eventOf, kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import type { CommitOutcome, ProjectKey, Store } from '../store.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import type { MysqlOptions } from './options.js';
import { harnessOf, newProject } from './testing/harness.js';
import { optionsWithLongTimeouts } from './testing.js';

const FOREVER = Number.POSITIVE_INFINITY;

await onSharedDatabase('mysql', ({ url }) => {
  describe('the mysql store with several coordinators', () => describeRaces(optionsWithLongTimeouts(url)));
});

function describeRaces(options: MysqlOptions): void {
  const { open, admin } = harnessOf(options);

  it('loses and duplicates no swap, and shows a follower every position once and in order', async () => {
    const projectKey = newProject();
    const stores = await Promise.all(range(1, 4).map(() => open()));
    const follower = new EventFollower(await open(), projectKey);
    const following = follower.run();
    const reportedPositions = (
      await Promise.all(stores.map((store, n) => contendForHead(store, projectKey, n)))
    ).flat();
    follower.stopAt(reportedPositions.length);
    await following;
    expect(follower.positions).toEqual(range(1, reportedPositions.length));
    expect([...reportedPositions].sort((a, b) => a - b)).toEqual(range(1, reportedPositions.length));
    expect(follower.contested_seqs).toEqual(range(1, follower.contested_seqs.length));
  });

  it('never exceeds a permit limit across projects', async () => {
    const { tenant_id } = newProject();
    const stores = await Promise.all(range(1, 4).map(() => open()));
    const takes = range(1, 40).map((n) => {
      const projectKey = { tenant_id, project_id: `p${n % 3}` };
      const permits = [{ scope: 'work', member: `m${n}`, until_ms: FOREVER }];
      const transaction = transactionOf(projectKey, {
        loose_events: [eventOf(projectKey, {})],
        permits,
        permit_limits: [{ scope: 'work', max: 7 }],
      });
      return (stores[n % 4] as Store).commit([transaction]);
    });
    const kinds = kindsOf((await Promise.all(takes)).flat());
    expect(kinds.filter((kind) => kind === 'committed')).toHaveLength(7);
    expect(await (stores[0] as Store).countPermits(tenant_id, 'work')).toBe(7);
  });

  it('refuses a commit as late that waited for a lock beyond not_after_ms', async () => {
    const projectKey = newProject();
    const store = await open();
    await store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] })]);
    const { host, port, user, password, namespace } = options;
    const other = await createConnection({ host, port, user, password, database: namespace });
    await other.beginTransaction();
    await other.query('SELECT * FROM project WHERE tenant_id = ? FOR UPDATE', [projectKey.tenant_id]);
    const not_after_ms = (await store.now()) + 100;
    const waiting = store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 1)], not_after_ms }),
    ]);
    while ((await store.now()) <= not_after_ms);
    await other.rollback();
    await other.end();
    expect(kindsOf(await waiting)).toEqual(['late']);
  });

  it('reuses the permits of a scope after they expire, and removes the expired rows', async () => {
    const projectKey = newProject();
    const store = await open();
    for (const round of range(1, 3)) {
      const until_ms = (await store.now()) + 30;
      const permits = range(1, 3).map((n) => ({ scope: 'work', member: `m${round}-${n}`, until_ms }));
      const transaction = transactionOf(projectKey, {
        loose_events: [eventOf(projectKey, {})],
        permits,
        permit_limits: [{ scope: 'work', max: 3 }],
      });
      expect(kindsOf(await store.commit([transaction]))).toEqual(['committed']);
      while ((await store.now()) <= until_ms);
    }
    const [row] = await admin(
      'SELECT COUNT(*) AS kept FROM permit JOIN scope USING (scope_no) WHERE tenant_id = ?',
      [projectKey.tenant_id],
    );
    expect(row?.kept).toBeLessThanOrEqual(3);
  });
}

/** Competes for one subject and moves its own; returns the reported positions. */
async function contendForHead(store: Store, projectKey: ProjectKey, client: number): Promise<number[]> {
  const positions: number[] = [];
  let seq = 0;
  for (const n of range(1, 25)) {
    const ownSwap = transactionOf(projectKey, { swaps: [swapOf(projectKey, `~own${client}`, n - 1)] });
    const contestedSwap = transactionOf(projectKey, { swaps: [swapOf(projectKey, '~contested', seq)] });
    const outcomes = await store.commit([ownSwap, contestedSwap]);
    positions.push(...outcomes.flatMap(positionsOf));
    const [, second] = outcomes;
    seq = second?.kind === 'conflict' ? (second.heads[0]?.head?.seq ?? 0) : seq + 1;
  }
  return positions;
}

const positionsOf = (outcome: CommitOutcome): number[] =>
  outcome.kind === 'committed' ? outcome.positions.filter((position) => position !== null) : [];

/** Reads the feed while others commit. */
class EventFollower {
  readonly positions: number[] = [];
  readonly contested_seqs: number[] = [];
  private lastPosition = Number.POSITIVE_INFINITY;

  constructor(
    private readonly store: Store,
    private readonly projectKey: ProjectKey,
  ) {}

  async run(): Promise<void> {
    while (this.positions.length < this.lastPosition) {
      const events = await this.store.events(this.projectKey, {
        after: this.positions.at(-1) ?? 0,
        limit: 7,
      });
      for (const { position, subject, seq } of events) {
        this.positions.push(position);
        if (subject === '~contested') this.contested_seqs.push(seq as number);
      }
    }
  }

  stopAt(position: number): void {
    this.lastPosition = position;
  }
}
