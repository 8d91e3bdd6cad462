import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ProcessClock } from '../clock.js';
import { eventOf, kindsOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import { type Permit, type ProjectKey, REQUEST_WINDOW_MS, type Store } from '../store.js';
import { describeOnDynamodb } from './testing/harness.js';

const HOUR_MS = 3_600_000;
const FOREVER = Number.POSITIVE_INFINITY;
const keyOf = (project_id = 'p', tenant_id = `t-${randomUUID()}`): ProjectKey => ({ tenant_id, project_id });

/** A clock that is ahead of the machine's. */
const clockAhead = (byMs: number): ProcessClock => ({
  wallMs: () => Date.now() + byMs,
  monotonicMs: () => performance.now(),
});

await describeOnDynamodb(
  'several dynamodb stores on the same tables',
  ({ store: open, proxy: openProxy }) => {
    const takePermits = (projectKey: ProjectKey, permits: readonly Permit[], max: number) =>
      transactionOf(projectKey, {
        loose_events: [eventOf(projectKey, {})],
        permits,
        permit_limits: [{ scope: 'claims', max }],
      });
    const permitOf = (member: string, until_ms: number | null = FOREVER): Permit => ({
      scope: 'claims',
      member,
      until_ms,
    });

    it('lose and duplicate no swap, and show a reader of the feed every event once', async () => {
      const projectKey = keyOf();
      const stores = await Promise.all([open(), open(), open()]);
      const moves = 12;
      let hasEnded = false;
      const reader = readUntilEnded(await open(), projectKey, () => hasEnded);
      const winCount = await Promise.all(stores.map((store) => moveContested(store, projectKey, moves)));
      hasEnded = true;
      expect(winCount).toEqual([moves, moves, moves]);
      const events = await reader;
      expect(events.map(({ position }) => position)).toEqual(range(1, 3 * moves));
      expect(events.map(({ seq }) => seq)).toEqual(range(1, 3 * moves));
    });

    it('check a head once, and again after another store has changed the project', async () => {
      const projectKey = keyOf();
      const proxy = await openProxy();
      const [store, other] = await Promise.all([open(proxy.options), open()]);
      const transactionWithCheck = (subject: string, expected_seq: number) =>
        transactionOf(projectKey, {
          swaps: [swapOf(projectKey, subject, 0)],
          checks: [{ subject: '~session', expected_seq }],
        });
      const kindAndChecks = async (subject: string, expectedSeq: number) => {
        proxy.calls.length = 0;
        const [outcome] = await store.commit([transactionWithCheck(subject, expectedSeq)]);
        const sent = proxy.calls.flatMap(({ body }) => (body.TransactItems ?? []) as object[]);
        return [outcome!.kind, sent.filter((write) => 'ConditionCheck' in write).length];
      };
      await other.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~session', 0)] })]);
      expect(await kindAndChecks('~a', 1)).toEqual(['committed', 1]);
      expect(await kindAndChecks('~b', 1)).toEqual(['committed', 0]);
      await other.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~else', 0)] })]);
      expect(await kindAndChecks('~c', 1)).toEqual(['committed', 1]);
      await other.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~session', 1)] })]);
      expect((await kindAndChecks('~d', 1))[0]).toBe('conflict');
      expect(await store.heads(projectKey, ['~d'])).toEqual([null]);
      expect(await kindAndChecks('~e', 2)).toEqual(['committed', 1]);
      await store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~session', 2)] })]);
      expect((await kindAndChecks('~f', 2))[0]).toBe('conflict');
      expect(await kindAndChecks('~g', 3)).toEqual(['committed', 0]);
    });

    it('never exceed a permit limit across projects', async () => {
      const { tenant_id } = keyOf();
      const stores = await Promise.all([open(), open(), open()]);
      const outcomes = await Promise.all(
        range(1, 45).map(async (n) => {
          const store = stores[n % 3] as Store;
          const [outcome] = await store.commit([
            takePermits(keyOf(`p${n % 5}`, tenant_id), [permitOf(`m${n}`)], 7),
          ]);
          return outcome!;
        }),
      );
      expect(kindsOf(outcomes).filter((kind) => kind === 'committed')).toHaveLength(7);
      expect(kindsOf(outcomes).filter((kind) => kind === 'full')).toHaveLength(38);
      expect(await (stores[0] as Store).countPermits(tenant_id, 'claims')).toBe(7);
    });

    it('reuse the expired permits of another project without a cleanup', async () => {
      const { tenant_id } = keyOf();
      const [projectKey, otherProject] = [keyOf('here', tenant_id), keyOf('there', tenant_id)];
      const store = await open();
      const untilMs = (await store.now()) + HOUR_MS;
      const gone = range(1, 120).map((n) => permitOf(`gone${n}`, untilMs));
      await store.commit([
        takePermits(otherProject, gone.slice(0, 60), 121),
        takePermits(otherProject, gone.slice(60), 121),
      ]);
      await store.commit([takePermits(otherProject, [permitOf('stays')], 121)]);
      expect(kindsOf(await store.commit([takePermits(projectKey, [permitOf('new')], 121)]))).toEqual([
        'full',
      ]);
      const later = await open(undefined, clockAhead(2 * HOUR_MS));
      expect(await later.countPermits(tenant_id, 'claims')).toBe(1);
      const outcomes = await later.commit([
        takePermits(projectKey, [permitOf('new')], 2),
        takePermits(projectKey, [permitOf('newer')], 2),
      ]);
      expect(kindsOf(outcomes)).toEqual(['committed', 'full']);
      expect(await later.countPermits(tenant_id, 'claims')).toBe(2);
    });

    it('share a permit limit without taking permits that are in use', async () => {
      const { tenant_id } = keyOf();
      const [one, two] = await Promise.all([open(), open()]);
      const [a, b] = [keyOf('a', tenant_id), keyOf('b', tenant_id)];
      await one.commit([takePermits(a, [permitOf('a1')], 10)]);
      for (const n of range(1, 9)) {
        expect(kindsOf(await two.commit([takePermits(b, [permitOf(`b${n}`)], 10)]))).toEqual(['committed']);
      }
      expect(kindsOf(await two.commit([takePermits(b, [permitOf('b10')], 10)]))).toEqual(['full']);
      expect(
        kindsOf(
          await one.commit([takePermits(a, [permitOf('a1')], 10), takePermits(a, [permitOf('a2')], 10)]),
        ),
      ).toEqual(['committed', 'full']);
      await two.commit([takePermits(b, [permitOf('b1', null)], 10)]);
      expect(kindsOf(await one.commit([takePermits(a, [permitOf('a2')], 10)]))).toEqual(['committed']);
    });

    it('never let the time of a project fall behind the fastest clock', async () => {
      const projectKey = keyOf();
      const [store, fast] = await Promise.all([open(), open(undefined, clockAhead(5_000))]);
      const [first] = await fast.commit([
        transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] }),
      ]);
      const [second] = await store.commit([
        transactionOf(projectKey, { swaps: [swapOf(projectKey, '~b', 0)] }),
      ]);
      expect(second!.now_ms).toBeGreaterThanOrEqual(first!.now_ms);
    });

    it('expire a request by the clock, even before DynamoDB deletes it', async () => {
      const projectKey = keyOf();
      const requests = [{ key: 'k', digest: 'd', keep: true }];
      await (await open()).commit([
        transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], requests }),
      ]);
      const tries: [number, string][] = [
        [REQUEST_WINDOW_MS - HOUR_MS, 'replay'],
        [REQUEST_WINDOW_MS + HOUR_MS, 'committed'],
      ];
      for (const [byMs, kind] of tries) {
        const store = await open(undefined, clockAhead(byMs));
        expect(
          kindsOf(
            await store.commit([
              transactionOf(projectKey, { swaps: [swapOf(projectKey, '~b', 0)], requests }),
            ]),
          ),
        ).toEqual([kind]);
      }
    });
  },
);

/** Moves one contested head `times` times, each time from the seq at which the others have left it. */
async function moveContested(store: Store, projectKey: ProjectKey, times: number): Promise<number> {
  let seq = 0;
  let winCount = 0;
  while (winCount < times) {
    const [outcome] = await store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~contested', seq)] }),
    ]);
    if (outcome?.kind === 'conflict') seq = outcome.heads[0]?.head?.seq ?? 0;
    else if (outcome?.kind === 'committed') {
      seq += 1;
      winCount += 1;
    }
  }
  return winCount;
}

async function readUntilEnded(store: Store, projectKey: ProjectKey, hasEnded: () => boolean) {
  const events: { position: number; seq: number | undefined }[] = [];
  for (;;) {
    const isLast = hasEnded();
    const page = await store.events(projectKey, { after: events.at(-1)?.position ?? 0, limit: 5 });
    events.push(...page.map(({ position, seq }) => ({ position, seq })));
    if (isLast && page.length === 0) return events;
  }
}
