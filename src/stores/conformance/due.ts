import type { Permit } from '../store.js';
import { expect } from './expect.js';
import { kindsOf, type StoreFixture, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

const LEASE_MS = 60_000;
const ENDED_MS = 1;
const LIMIT = 1000;
const SCOPE = 'work';

const onHead = (member: string, until_ms: number | null): Permit => ({
  scope: SCOPE,
  member,
  until_ms,
  on_head: true,
});

/** Takes a permit together with the head that it is on. */
async function takeHeadPermit(
  fixture: StoreFixture,
  subject: string,
  untilMs: number,
  expectedSeq = 0,
): Promise<void> {
  await fixture.expectCommitted({
    swaps: [fixture.swap(subject, expectedSeq)],
    permits: [onHead(subject, untilMs)],
  });
}

export function describePermitsOnHeads(fixture: () => StoreFixture): void {
  const countPermits = (): Promise<number> => fixture().store.countPermits(fixture().tenant_id, SCOPE);
  const now = (): Promise<number> => fixture().store.now();

  describe('a permit on a head', () => {
    it('counts until it ends or is released', async () => {
      const nowMs = await now();
      await takeHeadPermit(fixture(), '~a', nowMs + LEASE_MS);
      await takeHeadPermit(fixture(), '~b', nowMs + LEASE_MS);
      await takeHeadPermit(fixture(), '~c', ENDED_MS);
      expect(await countPermits()).toBe(2);
      await fixture().expectCommitted({ swaps: [fixture().swap('~a', 1)], permits: [onHead('~a', null)] });
      expect(await countPermits()).toBe(1);
      await takeHeadPermit(fixture(), '~b', ENDED_MS, 1);
      expect(await countPermits()).toBe(0);
    });

    it('is kept by a swap of its head that does not name the permit', async () => {
      await takeHeadPermit(fixture(), '~a', (await now()) + LEASE_MS);
      await fixture().expectCommitted({ swaps: [fixture().swap('~a', 1)] });
      expect(await countPermits()).toBe(1);
    });

    it('can be released and taken again without a swap of its head', async () => {
      await takeHeadPermit(fixture(), '~a', (await now()) + LEASE_MS);
      await fixture().expectCommitted({ permits: [onHead('~a', null)] });
      expect(await countPermits()).toBe(0);
      await fixture().expectCommitted({ permits: [onHead('~a', (await now()) + LEASE_MS)] });
      expect(await countPermits()).toBe(1);
    });

    it('is limited like any other permit, and no longer counts when it has ended', async () => {
      const { projectKey, store } = fixture();
      const untilMs = (await now()) + LEASE_MS;
      const claimTransaction = (subject: string, until: number) =>
        transactionOf(projectKey, {
          swaps: [fixture().swap(subject)],
          permits: [onHead(subject, until)],
          permit_limits: [{ scope: SCOPE, max: 2 }],
        });
      await takeHeadPermit(fixture(), '~ended', ENDED_MS);
      const outcomes = await store.commit([
        claimTransaction('~a', untilMs),
        claimTransaction('~b', untilMs),
        claimTransaction('~c', untilMs),
      ]);
      expect(kindsOf(outcomes)).toEqual(['committed', 'committed', 'full']);
      expect(await countPermits()).toBe(2);
      await fixture().expectCommitted({ permits: [onHead('~a', null)] });
      expect(kindsOf(await store.commit([claimTransaction('~c', untilMs)]))).toEqual(['committed']);
    });

    it('survives reopening', async () => {
      if (!fixture().canReopen) return;
      await takeHeadPermit(fixture(), '~a', (await now()) + LEASE_MS);
      await fixture().reopen();
      expect(await countPermits()).toBe(1);
    });
  });
}

export function describeDueProjects(fixture: () => StoreFixture): void {
  describe('the projects that are due', () => {
    const now = (): Promise<number> => fixture().store.now();
    const dueProjectIds = async (): Promise<string[]> => {
      const projects = (await fixture().store.dueProjects?.(LIMIT)) ?? [];
      return projects
        .filter(({ tenant_id }) => tenant_id === fixture().tenant_id)
        .map(({ project_id }) => project_id);
    };

    it('are those with a permit on a head that has ended', async () => {
      await takeHeadPermit(fixture(), '~a', (await now()) + LEASE_MS);
      expect(await dueProjectIds()).toEqual([]);
      await takeHeadPermit(fixture(), '~b', ENDED_MS);
      expect(await dueProjectIds()).toEqual([fixture().projectKey.project_id]);
    });

    it('are due until the permit is released or renewed', async () => {
      await takeHeadPermit(fixture(), '~a', ENDED_MS);
      await takeHeadPermit(fixture(), '~b', ENDED_MS);
      await fixture().expectCommitted({ swaps: [fixture().swap('~a', 1)], permits: [onHead('~a', null)] });
      expect(await dueProjectIds()).toEqual([fixture().projectKey.project_id]);
      await takeHeadPermit(fixture(), '~b', (await now()) + LEASE_MS, 1);
      expect(await dueProjectIds()).toEqual([]);
    });

    it('stay due when another permit has taken the place of the ended permit', async () => {
      await takeHeadPermit(fixture(), '~a', ENDED_MS);
      await fixture().expectCommitted({
        swaps: [fixture().swap('~b')],
        permits: [onHead('~b', (await now()) + LEASE_MS)],
        permit_limits: [{ scope: SCOPE, max: 1 }],
      });
      expect(await dueProjectIds()).toEqual([fixture().projectKey.project_id]);
    });

    it('become due as time passes, after a renewal too', async () => {
      await takeHeadPermit(fixture(), '~a', (await now()) + 30);
      await takeHeadPermit(fixture(), '~a', (await now()) + 60, 1);
      await fixture().advanceClock(100);
      expect(await dueProjectIds()).toEqual([fixture().projectKey.project_id]);
    });

    it('are returned earliest first, up to the limit', async () => {
      const { store } = fixture();
      for (const [project_id, untilMs] of [
        ['later', 2],
        ['earliest', 1],
        ['latest', 3],
      ] as const) {
        const projectKey = fixture().keyOf(project_id);
        await store.commit([
          transactionOf(projectKey, {
            swaps: [fixture().swap('~a')].map((swap) => ({
              ...swap,
              events: swap.events.map((event) => ({ ...event, project_id })),
            })),
            permits: [onHead('~a', untilMs)],
          }),
        ]);
      }
      expect(await dueProjectIds()).toEqual(['earliest', 'later', 'latest']);
      expect((await store.dueProjects?.(1))?.length).toBe(1);
    });
  });
}
