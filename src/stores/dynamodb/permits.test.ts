import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { eventOf, kindsOf, range, transactionOf } from '../conformance/fixture.js';
import type { ProjectKey, Store, Transaction } from '../store.js';
import { describeOnDynamodb } from './testing/harness.js';

const SCOPE = 'claims';

/** Takes or releases permits; without `max`, under no limit. */
function moveMembers(
  projectKey: ProjectKey,
  members: readonly string[],
  max?: number,
  isTaken = true,
): Transaction {
  return transactionOf(projectKey, {
    loose_events: [eventOf(projectKey, {})],
    permits: members.map((member) => ({
      scope: SCOPE,
      member,
      until_ms: isTaken ? Number.POSITIVE_INFINITY : null,
    })),
    permit_limits: max === undefined ? [] : [{ scope: SCOPE, max }],
  });
}

await describeOnDynamodb('a permit limit', ({ store: open, proxy: openProxy }) => {
  const twoProjects = (): [ProjectKey, ProjectKey] => {
    const tenant_id = `t-${randomUUID()}`;
    return [
      { tenant_id, project_id: 'p' },
      { tenant_id, project_id: 'q' },
    ];
  };
  const kindOf = async (store: Store, transaction: Transaction) =>
    kindsOf(await store.commit([transaction]))[0];

  it('counts the permits that another project has taken without a limit', async () => {
    const store = await open();
    const [p, q] = twoProjects();
    expect(await kindOf(store, moveMembers(p, ['a'], 3))).toBe('committed');
    expect(await kindOf(store, moveMembers(q, ['a', 'b']))).toBe('committed');
    expect(await kindOf(store, moveMembers(p, ['b'], 3))).toBe('full');
    expect(await kindOf(store, moveMembers(p, ['b'], 4))).toBe('committed');
  });

  it('counts the permits that another project has taken under a larger limit', async () => {
    const store = await open();
    const [p, q] = twoProjects();
    expect(await kindOf(store, moveMembers(p, ['a', 'b'], 5))).toBe('committed');
    expect(await kindOf(store, moveMembers(q, ['a', 'b', 'c', 'd', 'e', 'f'], 12))).toBe('committed');
    expect(await kindOf(store, moveMembers(p, ['c'], 5))).toBe('full');
    expect(await kindOf(store, moveMembers(p, ['b'], 5, false))).toBe('committed');
    expect(await kindOf(store, moveMembers(p, ['c'], 5))).toBe('full');
    expect(await kindOf(store, moveMembers(p, ['c'], 12))).toBe('committed');
  });

  it('applies in a batch that also takes permits without a limit', async () => {
    const store = await open();
    const [p] = twoProjects();
    const outcomes = await store.commit([
      moveMembers(p, ['a'], 2),
      moveMembers(p, ['b', 'c'], 2),
      moveMembers(p, ['d', 'e']),
      moveMembers(p, ['f'], 3),
      moveMembers(p, ['f'], 4),
    ]);
    expect(kindsOf(outcomes)).toEqual(['committed', 'full', 'committed', 'full', 'committed']);
    expect(await store.countPermits(p.tenant_id, SCOPE)).toBe(4);
  });

  it('costs few reservations in a batch without a limit', async () => {
    const proxy = await openProxy();
    const store = await open(proxy.options);
    const [p] = twoProjects();
    await store.commit(range(1, 15).map((n) => moveMembers(p, [`m${n}`])));
    const reservations = proxy.calls.filter(({ body }) => JSON.stringify(body).includes('"LOT"'));
    expect(reservations).toHaveLength(4);
  });
});
