import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import { eventOf, swapOf, transactionOf } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import type { CommitOutcome, HeadSwap, Permit, ProjectKey, Store, Transaction } from '../store.js';

/** Few names, so that transactions interact in every way. */
const fewNames = (name: string) => fc.nat(3).map((n) => `${name}${n}`);
const listOf = <T>(of: fc.Arbitrary<T>, maxLength: number) => fc.array(of, { maxLength });
const rarelyTrue = (n: number) => fc.nat(n).map((drawn) => drawn === 0);

const FAR_MS = Number.POSITIVE_INFINITY;
const untilMs = fc.constantFrom(null, FAR_MS, FAR_MS, 9e14, 1);
const permit = fc.record({
  scope: fewNames('scope').map((scope) => scope.replace(/[23]/, '0')),
  member: fewNames('m'),
  until_ms: untilMs,
});
const request = fc.record({
  key: fc.nat(12).map((n) => `k${n}`),
  keep: fc.boolean(),
  reply: fc.constantFrom(undefined, 1, { a: 'b' }),
});
const swap = fc.record({
  subject: fc.nat(15).map((n) => `~s${n}`),
  seqOffset: fc.nat(9).map((n) => (n === 0 ? 1 : 0)),
  eventCount: fc.constantFrom(1, 1, 2),
  /** The permit on the head; undefined: it stays as it is. */
  until_ms: fc.option(untilMs, { nil: undefined }),
});
const plan = fc.record({
  project: fc.nat(12).map((n) => (n === 0 ? 'q' : 'p')),
  swaps: fc.uniqueArray(swap, { selector: ({ subject }) => subject, maxLength: 2 }),
  checks: listOf(fewNames('~c'), 1),
  /** A permit on a head that is not swapped. */
  moved: fc.option(fc.record({ subject: fewNames('~s'), until_ms: untilMs }), { nil: null, freq: 9 }),
  rules: fc.constantFrom(null, null, null, 0, 0, 1),
  changes_rules: rarelyTrue(20),
  requests: fc.uniqueArray(request, { selector: ({ key }) => key, maxLength: 1 }),
  looseEvents: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: listOf(fewNames('n'), 2) },
  ),
  permits: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: listOf(permit, 2) }),
  limits: fc.uniqueArray(fc.record({ scope: fc.constantFrom('scope0', 'heads'), max: fc.nat(12) }), {
    selector: ({ scope }) => scope,
    maxLength: 2,
  }),
  not_after_ms: fc.nat(15).map((n) => (n === 0 ? 1 : null)),
  not_before_ms: fc.nat(15).map((n) => (n === 0 ? 9e14 : null)),
});
type GeneratedPlan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

/** Expects random batches to have the same outcomes as in the memory store, and to leave the same state. */
export async function expectSameAsMemory(
  store: Store,
  onBatch: (transactions: readonly Transaction[]) => void = () => {},
  parameters: { readonly seed?: number } = {},
): Promise<void> {
  const property = fc.asyncProperty(
    fc.array(fc.array(plan, { maxLength: 6 }), { maxLength: 8 }),
    async (batches) => {
      const tenantId = `t-${randomUUID()}`;
      const memory = openMemoryStore();
      for (const batch of batches) {
        const transactions = await transactionsOf(batch, tenantId, memory);
        onBatch(transactions);
        const outcomes = withoutTimes(await store.commit(transactions));
        expect(outcomes).toEqual(withoutTimes(await memory.commit(transactions)));
      }
      expect(await storeContents(store, tenantId)).toEqual(await storeContents(memory, tenantId));
    },
  );
  // Shrinking on a slow database takes many minutes. The failure names its seed, with which it can be shrunk.
  await fc.assert(property, { numRuns: 60, endOnFailure: true, ...parameters });
}

/** Transactions with mostly correct seqs, given the state before the batch and the earlier transactions of the batch. */
async function transactionsOf(
  batch: readonly GeneratedPlan[],
  tenant_id: string,
  store: Store,
): Promise<Transaction[]> {
  const seqs = new Map<string, number>();
  const transactions: Transaction[] = [];
  for (const planned of batch) {
    const projectKey: ProjectKey = { tenant_id, project_id: planned.project };
    const seqOf = async (subject: string): Promise<number> =>
      seqs.get(`${projectKey.project_id}${subject}`) ??
      (await store.heads(projectKey, [subject]))[0]?.seq ??
      0;
    const swaps: HeadSwap[] = [];
    const onHeads: Permit[] = [];
    for (const { subject, seqOffset, eventCount, until_ms } of planned.swaps) {
      const seq = (await seqOf(subject)) + seqOffset;
      swaps.push(swapOf(projectKey, subject, seq, eventCount));
      seqs.set(`${projectKey.project_id}${subject}`, seq + eventCount);
      if (until_ms !== undefined) onHeads.push({ scope: 'heads', member: subject, until_ms, on_head: true });
    }
    const checks = [];
    for (const subject of planned.checks) checks.push({ subject, expected_seq: await seqOf(subject) });
    if (planned.moved !== null && (await store.heads(projectKey, [planned.moved.subject]))[0] !== null) {
      const { subject, until_ms } = planned.moved;
      onHeads.push({ scope: 'heads', member: subject, until_ms, on_head: true });
    }
    transactions.push(
      transactionOf(projectKey, {
        swaps,
        checks,
        rules_seq: planned.rules,
        changes_rules: planned.changes_rules,
        requests: planned.requests.map((each) => ({ ...each, digest: 'd' })),
        loose_events: (planned.looseEvents as readonly string[]).map((event_id) =>
          eventOf(projectKey, { event_id }),
        ),
        permits: [...planned.permits, ...onHeads],
        permit_limits: planned.limits,
        not_after_ms: planned.not_after_ms,
        not_before_ms: planned.not_before_ms,
      }),
    );
  }
  return transactions;
}

/** Omits what may differ: times, and what is stored beside a request's public fields. */
const withoutTimes = (outcomes: readonly CommitOutcome[]): unknown[] =>
  outcomes.map((outcome) => {
    if (outcome.kind !== 'replay') return { ...outcome, now_ms: 0 };
    const { key, digest, reply, positions } = outcome.request;
    return { kind: outcome.kind, key, digest, reply, positions };
  });

async function storeContents(store: Store, tenant_id: string): Promise<unknown> {
  const projects = await store.projects(tenant_id);
  const states = projects.map(async (project_id) => ({
    row: await store.project({ tenant_id, project_id }),
    heads: await store.scanHeads({ tenant_id, project_id }, { after: null, limit: 100 }),
    events: await store.events({ tenant_id, project_id }, { after: 0, limit: 1000 }),
  }));
  const live = ['scope0', 'scope1', 'heads'].map((scope) => store.countPermits(tenant_id, scope));
  return { projects, states: await Promise.all(states), live: await Promise.all(live) };
}
