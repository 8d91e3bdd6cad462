import type { Permit, ProjectKey } from '../store.js';
import { expect } from './expect.js';
import { type StoreFixture, swapOf } from './fixture.js';
import { describe, it } from './test-list.js';

const LEASE_MS = 60_000;
/** Longer than a commit takes on a busy machine. */
const SHORT_LEASE_MS = 1500;
/** Small, so that a listing takes several pages. */
const PAGE_SIZE = 2;
const PAGES_MAX = 100_000;

const onHead = (until_ms: number | null): Permit => ({
  scope: 'work',
  member: '~a',
  until_ms,
  on_head: true,
});

export function describeProjectsWithPermits(fixture: () => StoreFixture): void {
  const now = (): Promise<number> => fixture().store.now();

  async function takePermit(projectKey: ProjectKey, untilMs: number): Promise<void> {
    await fixture().expectCommitted(
      { swaps: [swapOf(projectKey, '~a', 0)], permits: [onHead(untilMs)] },
      projectKey,
    );
  }

  /** Only the projects of this test's tenant: a database also has the data of other tests. */
  async function projectIdsWithPermits(): Promise<string[]> {
    const projectKeys: ProjectKey[] = [];
    let after: ProjectKey | null = null;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const page: ProjectKey[] = await fixture().store.projectsWithPermits({ after, limit: PAGE_SIZE });
      expect(page.length).toBeLessThanOrEqual(PAGE_SIZE);
      projectKeys.push(...page);
      after = page.at(-1) ?? null;
      if (after === null) break;
    }
    return projectKeys
      .filter(({ tenant_id }) => tenant_id === fixture().tenant_id)
      .map(({ project_id }) => project_id)
      .sort();
  }

  describe('the projects with a permit on a head', () => {
    it('are listed in pages, without the projects that never had such a permit', async () => {
      const { projectKey } = fixture();
      await fixture().expectCommitted({ swaps: [fixture().swap('~a')] });
      const member: Permit = { scope: 'sessions', member: 's1', until_ms: (await now()) + LEASE_MS };
      await fixture().expectCommitted({ permits: [member] });
      expect(await projectIdsWithPermits()).toEqual([]);
      const names = ['p1', 'p2', 'p3', 'p4', 'p5'];
      for (const name of names)
        await takePermit({ ...projectKey, project_id: name }, (await now()) + LEASE_MS);
      expect(await projectIdsWithPermits()).toEqual(names);
    });

    it('are listed until the permit is released, with a swap of the head or without', async () => {
      const [first, second] = [fixture().keyOf('p1'), fixture().keyOf('p2')];
      await takePermit(first, (await now()) + LEASE_MS);
      await takePermit(second, Number.POSITIVE_INFINITY);
      expect(await projectIdsWithPermits()).toEqual(['p1', 'p2']);
      await fixture().expectCommitted({ swaps: [swapOf(first, '~a', 1)] }, first);
      await fixture().expectCommitted({ permits: [onHead((await now()) + 2 * LEASE_MS)] }, first);
      expect(await projectIdsWithPermits()).toEqual(['p1', 'p2']);
      await fixture().expectCommitted({ swaps: [swapOf(first, '~a', 2)], permits: [onHead(null)] }, first);
      expect(await projectIdsWithPermits()).toEqual(['p2']);
      await fixture().expectCommitted({ permits: [onHead(null)] }, second);
      expect(await projectIdsWithPermits()).toEqual([]);
    });

    it('are listed after the permit has ended, also if the head was swapped since', async () => {
      const { projectKey } = fixture();
      await takePermit(projectKey, (await now()) + SHORT_LEASE_MS);
      await fixture().advanceClock(2 * SHORT_LEASE_MS);
      expect(await projectIdsWithPermits()).toEqual([projectKey.project_id]);
      await fixture().expectCommitted({ swaps: [fixture().swap('~a', 1)] });
      expect(await projectIdsWithPermits()).toEqual([projectKey.project_id]);
      await fixture().expectCommitted({ swaps: [fixture().swap('~a', 2)], permits: [onHead(null)] });
      expect(await projectIdsWithPermits()).toEqual([]);
    });

    it('are listed when another project has taken the permit that has ended', async () => {
      await takePermit(fixture().projectKey, (await now()) + SHORT_LEASE_MS);
      await fixture().advanceClock(2 * SHORT_LEASE_MS);
      const other = fixture().keyOf('other');
      const permit_limits = [{ scope: 'work', max: 1 }];
      const permits = [onHead((await now()) + LEASE_MS)];
      await fixture().expectCommitted({ swaps: [swapOf(other, '~a', 0)], permits, permit_limits }, other);
      expect(await projectIdsWithPermits()).toEqual(['other', fixture().projectKey.project_id]);
    });

    it('are listed after reopening', async () => {
      if (!fixture().canReopen) return;
      await takePermit(fixture().keyOf('live'), (await now()) + LEASE_MS);
      await takePermit(fixture().keyOf('ended'), (await now()) + SHORT_LEASE_MS);
      await takePermit(fixture().keyOf('released'), (await now()) + LEASE_MS);
      await fixture().expectCommitted({ permits: [onHead(null)] }, fixture().keyOf('released'));
      await fixture().advanceClock(2 * SHORT_LEASE_MS);
      await fixture().reopen();
      expect(await projectIdsWithPermits()).toEqual(['ended', 'live']);
      // A store may have recorded at the first reopening which projects are idle.
      await fixture().reopen();
      expect(await projectIdsWithPermits()).toEqual(['ended', 'live']);
      expect((await fixture().store.projects(fixture().tenant_id)).sort()).toEqual([
        'ended',
        'live',
        'released',
      ]);
      expect(await fixture().head('~a', fixture().keyOf('released'))).toMatchObject({ seq: 1 });
    });
  });
}
