import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventOf, kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import type { CommitOutcome, ProjectKey, Store } from '../store.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openPostgresStore } from './postgres-store.js';
import { optionsWithLongTimeouts } from './testing.js';

const HOUR_MS = 3_600_000;

await onSharedDatabase('postgres', ({ url }) => {
  describe('several coordinators on postgres', () => describeRaces(url));
});

function describeRaces(url: string): void {
  const options = optionsWithLongTimeouts(url);
  const newProject = (): ProjectKey => ({ tenant_id: `t-${randomUUID()}`, project_id: 'p' });

  const open = async (count: number): Promise<Store[]> => {
    const stores = await Promise.all(range(1, count).map(() => openPostgresStore(options)));
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()));
    });
    return stores;
  };

  it('lose and duplicate no swap, and show a reader of the feed every position once, in order', async () => {
    const projectKey = newProject();
    const [reader, ...writers] = (await open(4)) as [Store, ...Store[]];
    let isWriting = true;
    const read = readWhileWriting(reader, projectKey, () => isWriting);
    const committed = await Promise.all(writers.map((writer) => contendForHead(writer, projectKey, 60)));
    isWriting = false;
    const positions = await read;
    const wins = committed.reduce((sum, count) => sum + count, 0);
    expect(await reader.heads(projectKey, ['~contested'])).toMatchObject([{ seq: wins }]);
    expect(positions).toEqual(range(1, wins));
  });

  it('never exceed a permit limit across projects', async () => {
    const { tenant_id } = newProject();
    const stores = await open(3);
    const takePermits = (store: Store, index: number): Promise<CommitOutcome[]> => {
      const projectKey = { tenant_id, project_id: `p${index % 4}` };
      const permits = [{ scope: 'work', member: `m${index}`, until_ms: Number.POSITIVE_INFINITY }];
      const looseEvents = [eventOf(projectKey, {})];
      return store.commit([
        transactionOf(projectKey, {
          loose_events: looseEvents,
          permits,
          permit_limits: [{ scope: 'work', max: 7 }],
        }),
      ]);
    };
    const outcomes = await Promise.all(
      range(1, 60).map((index) => takePermits(stores[index % 3] as Store, index)),
    );
    expect(kindsOf(outcomes.flat()).filter((kind) => kind === 'committed')).toHaveLength(7);
    expect(await stores[0]?.countPermits(tenant_id, 'work')).toBe(7);
  });

  it('give expired permits to other members without a cleanup', async () => {
    const projectKey = newProject();
    const [one, other] = (await open(2)) as [Store, Store];
    const takePermits = async (store: Store, members: readonly string[], until_ms: number) => {
      const permits = members.map((member) => ({ scope: 'work', member, until_ms }));
      const [outcome] = await store.commit([
        transactionOf(projectKey, {
          loose_events: [eventOf(projectKey, {})],
          permits,
          permit_limits: [{ scope: 'work', max: 2 }],
        }),
      ]);
      return outcome as CommitOutcome;
    };
    const untilMs = (await one.now()) + 150;
    expect((await takePermits(one, ['a', 'b'], untilMs)).kind).toBe('committed');
    for (;;) {
      const outcome = await takePermits(other, ['c', 'd'], untilMs + HOUR_MS);
      expect(outcome.kind).toBe(outcome.now_ms < untilMs ? 'full' : 'committed');
      if (outcome.kind === 'committed') break;
    }
    expect((await takePermits(one, ['a'], untilMs + HOUR_MS)).kind).toBe('full');
  });

  it('refuse a commit as late that waited for a lock beyond not_after_ms', async () => {
    const projectKey = newProject();
    const [store] = (await open(1)) as [Store];
    await store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] })]);
    const blocker = new pg.Client(url);
    await blocker.connect();
    onTestFinished(() => blocker.end());
    await blocker.query('BEGIN');
    await blocker.query(`SELECT FROM ${options.namespace}.project WHERE tenant_id = $1 FOR UPDATE`, [
      projectKey.tenant_id,
    ]);
    const not_after_ms = (await store.now()) + 100;
    const waiting = store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 1)], not_after_ms }),
    ]);
    while ((await store.now()) <= not_after_ms);
    await blocker.query('ROLLBACK');
    expect(await waiting).toMatchObject([{ kind: 'late' }]);
    expect(await store.heads(projectKey, ['~a'])).toMatchObject([{ seq: 1 }]);
  });

  it('commit across projects and tenants in any order without a deadlock', async () => {
    const stores = await open(3);
    const projects = range(1, 6).map(newProject);
    const rounds = stores.map(async (store, index) => {
      for (const round of range(1, 20)) {
        const order = index % 2 === 0 ? projects : [...projects].reverse();
        const transactions = order.map((projectKey) =>
          transactionOf(projectKey, {
            loose_events: [eventOf(projectKey, {})],
            permits: [{ scope: `s${round % 2}`, member: 'm', until_ms: HOUR_MS * 1e9 }],
          }),
        );
        const outcomes = await store.commit(transactions);
        expect(new Set(kindsOf(outcomes))).toEqual(new Set(['committed']));
      }
    });
    await Promise.all(rounds);
    for (const projectKey of projects)
      expect(await stores[0]?.project(projectKey)).toMatchObject({ position: 60 });
  });
}

/** Moves one head as often as it can, always from the head it last saw; returns how often it succeeded. */
async function contendForHead(store: Store, projectKey: ProjectKey, tries: number): Promise<number> {
  let seq = 0;
  let winCount = 0;
  for (const _ of range(1, tries)) {
    const [outcome] = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~contested', seq)] }),
    ]);
    if (outcome?.kind === 'conflict') seq = outcome.heads[0]?.head?.seq ?? 0;
    if (outcome?.kind !== 'committed') continue;
    seq += 1;
    winCount += 1;
  }
  return winCount;
}

/** Pages through the feed while others write, and once more after they have stopped. */
async function readWhileWriting(
  store: Store,
  projectKey: ProjectKey,
  isWriting: () => boolean,
): Promise<number[]> {
  const positions: number[] = [];
  for (;;) {
    const mayContinue = isWriting();
    const page = await store.events(projectKey, { after: positions.at(-1) ?? 0, limit: 50 });
    positions.push(...page.map((event) => event.position));
    if (!mayContinue && page.length === 0) return positions;
  }
}
