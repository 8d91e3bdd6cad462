import { expect } from './expect.js';
import { type StoreFixture, swapOf } from './fixture.js';
import { describe, it } from './test-list.js';

const LEASE_MS = 60_000;

export function describeTenants(fixture: () => StoreFixture): void {
  /** Only the tenants of this test: a database also has the tenants of other tests, under other names. */
  const listedTenants = async (): Promise<string[]> =>
    (await fixture().store.tenantIds()).filter((tenantId) => tenantId.startsWith(fixture().tenant_id));

  /** A store with a home project lists the tenant of that project from the start. */
  const tenantsListedAtStart = (): string[] => {
    const { home } = fixture().store;
    return home?.tenant_id === fixture().tenant_id ? [home.tenant_id] : [];
  };

  async function takePermit(tenantId: string): Promise<void> {
    const projectKey = fixture().keyOf('p', tenantId);
    const until_ms = (await fixture().store.now()) + LEASE_MS;
    const permits = [{ scope: 'work', member: '~a', until_ms, on_head: true }] as const;
    await fixture().expectCommitted({ swaps: [swapOf(projectKey, '~a', 0)], permits }, projectKey);
  }

  describe('the tenants', () => {
    it('with a permit on a head are listed once each, sorted by name, also after its release', async () => {
      expect(await listedTenants()).toEqual(tenantsListedAtStart());
      const [first, second] = [fixture().tenant_id, `${fixture().tenant_id}-2`] as const;
      await takePermit(second);
      await takePermit(first);
      await fixture().expectCommitted(
        { swaps: [swapOf(fixture().keyOf('q'), '~a', 0)] },
        fixture().keyOf('q'),
      );
      expect(await listedTenants()).toEqual([first, second]);
      const permits = [{ scope: 'work', member: '~a', until_ms: null, on_head: true }] as const;
      await fixture().expectCommitted({ permits }, fixture().keyOf('p', second));
      expect(await listedTenants()).toEqual([first, second]);
      if (!fixture().canReopen) return;
      await fixture().reopen();
      expect(await listedTenants()).toEqual([first, second]);
    });

    it('whose projects were only read are not listed', async () => {
      await fixture().store.project(fixture().keyOf('p'));
      await fixture().store.events(fixture().keyOf('p'), { after: 0, limit: 1 });
      expect(await listedTenants()).toEqual(tenantsListedAtStart());
    });
  });
}
