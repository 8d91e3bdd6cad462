import { expect } from './expect.js';
import { type StoreFixture, swapOf } from './fixture.js';
import { describe, it } from './test-list.js';

const LEASE_MS = 60_000;

export function describeTenants(fixture: () => StoreFixture): void {
  /** A database has the data of other tests, whose tenants have other names. */
  const listedTenants = async (): Promise<string[]> =>
    (await fixture().store.tenantIds()).filter((tenantId) => tenantId.startsWith(fixture().tenant_id));

  /** The project whose log the store is exists before its first event, and with it its tenant. */
  const listedBefore = (): string[] => {
    const { home } = fixture().store;
    return home?.tenant_id === fixture().tenant_id ? [home.tenant_id] : [];
  };

  async function takePermit(tenantId: string): Promise<void> {
    const project = fixture().key('p', tenantId);
    const until_ms = (await fixture().store.now()) + LEASE_MS;
    const permits = [{ scope: 'work', member: '~a', until_ms, on_head: true }] as const;
    await fixture().committed({ swaps: [swapOf(project, '~a', 0)], permits }, project);
  }

  describe('the tenants', () => {
    it('with a permit on a head are listed once each, sorted by name, with and without a project in use', async () => {
      expect(await listedTenants()).toEqual(listedBefore());
      const [first, second] = [fixture().tenant_id, `${fixture().tenant_id}-2`] as const;
      await takePermit(second);
      await takePermit(first);
      await fixture().committed({ swaps: [swapOf(fixture().key('q'), '~a', 0)] }, fixture().key('q'));
      expect(await listedTenants()).toEqual([first, second]);
      const permits = [{ scope: 'work', member: '~a', until_ms: null, on_head: true }] as const;
      await fixture().committed({ permits }, fixture().key('p', second));
      expect(await listedTenants()).toEqual([first, second]);
      if (!fixture().canReopen) return;
      await fixture().reopen();
      expect(await listedTenants()).toEqual([first, second]);
    });

    it('whose projects were only read are not listed', async () => {
      await fixture().store.project(fixture().key('p'));
      await fixture().store.events(fixture().key('p'), { after: 0, limit: 1 });
      expect(await listedTenants()).toEqual(listedBefore());
    });
  });
}
