import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { eventOf, swapOf, transactionOf } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import type { CommitOutcome, Permit, ProjectKey, Store, Transaction } from '../store.js';
import { onSharedEngine } from '../testing/shared-engine.js';
import { MysqlCommitter } from './commit.js';
import { openPool } from './connection.js';
import { MysqlStore, openMysqlStore } from './mysql-store.js';
import type { MysqlOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { optionsWithoutTimeouts } from './testing.js';

/** Few names, so that transactions interact in every way. */
const few = (name: string) => fc.nat(3).map((n) => `${name}${n}`);
const lists = <T>(of: fc.Arbitrary<T>, maxLength: number) => fc.array(of, { maxLength });
const permitEnd = fc.constantFrom(null, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1);
const permit = fc.record({
  scope: few('scope').map((scope) => scope.replace(/[23]/, '0')),
  member: few('m'),
  until_ms: permitEnd,
});
const request = fc.record({
  key: few('k'),
  keep: fc.boolean(),
  reply: fc.constantFrom(undefined, 1, { a: 'b' }),
});
const plan = fc.record({
  project: fc.constantFrom('p', 'p', 'p', 'q'),
  swaps: fc.uniqueArray(fc.record({ subject: few('~s'), off: fc.constantFrom(0, 0, 0, 1) }), {
    selector: ({ subject }) => subject,
    maxLength: 2,
  }),
  checks: lists(few('~s'), 1),
  rules: fc.constantFrom(null, null, 0, 1),
  changes_rules: fc.nat(20).map((n) => n === 0),
  requests: fc.uniqueArray(request, { selector: ({ key }) => key, maxLength: 2 }),
  notes: lists(few('n'), 2),
  permits: lists(permit, 3),
  claims: lists(fc.record({ subject: few('~s'), until_ms: permitEnd }), 2),
  limits: lists(fc.record({ scope: fc.oneof(few('scope'), fc.constant('claims')), max: fc.nat(4) }), 2),
  not_after_ms: fc.constantFrom(null, null, null, 1),
});
type GeneratedPlan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

await onSharedEngine('mysql', ({ url }) => {
  const options = optionsWithoutTimeouts(url);
  it.each([
    ['in the common case', openMysqlStore],
    ['in the general case', openGeneralStore],
  ])('the mysql store reaches the same outcomes and state as the memory store: %s', async (_, open) => {
    const mysql = await open(options);
    const property = fc.asyncProperty(
      fc.array(fc.array(plan, { maxLength: 8 }), { maxLength: 6 }),
      async (batches) => {
        const tenantId = `t-${randomUUID()}`;
        const memory = openMemoryStore();
        for (const batch of batches) {
          const transactions = await unitsOf(batch, tenantId, memory);
          expect(timeless(await mysql.commit(transactions))).toEqual(
            timeless(await memory.commit(transactions)),
          );
        }
        expect(await everything(mysql, tenantId)).toEqual(await everything(memory, tenantId));
      },
    );
    await fc.assert(property, { numRuns: 60 });
    await mysql.close();
  });
});

/** A store that decides every batch in the general way. */
async function openGeneralStore(options: MysqlOptions): Promise<MysqlStore> {
  class GeneralCommitter extends MysqlCommitter {
    protected override async sendCommon(): Promise<null> {
      return null;
    }
  }
  const pool = await openPool(options);
  return new MysqlStore(pool, options, new GeneralCommitter(pool, options, await runPreflight(pool)));
}

/** Seqs are mostly correct, according to the state before the batch and the transactions before. */
async function unitsOf(
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
    const swaps = [];
    for (const { subject, off } of planned.swaps) {
      const seq = (await seqOf(subject)) + off;
      swaps.push(swapOf(projectKey, subject, seq));
      seqs.set(`${projectKey.project_id}${subject}`, seq + 1);
    }
    const checks = [];
    for (const subject of planned.checks) checks.push({ subject, expected_seq: await seqOf(subject) });
    const claims: Permit[] = [];
    for (const { subject: member, until_ms } of planned.claims) {
      const isSwapped = planned.swaps.some(({ subject }) => subject === member);
      const [stored] = await store.heads(projectKey, [member]);
      if (isSwapped || stored) claims.push({ scope: 'claims', member, until_ms, on_head: true });
    }
    transactions.push(
      transactionOf(projectKey, {
        swaps,
        checks,
        rules_seq: planned.rules,
        changes_rules: planned.changes_rules,
        requests: planned.requests.map((asked) => ({ ...asked, digest: 'd' })),
        loose_events: planned.notes.map((event_id) => eventOf(projectKey, { event_id })),
        permits: [...planned.permits, ...claims],
        permit_limits: planned.limits,
        not_after_ms: planned.not_after_ms,
      }),
    );
  }
  return transactions;
}

/** Omits what may differ: times, and what is stored beside a request's public fields. */
const timeless = (outcomes: readonly CommitOutcome[]): unknown[] =>
  outcomes.map((outcome) => {
    if (outcome.kind !== 'replay') return { ...outcome, now_ms: 0 };
    const { key, digest, reply, positions } = outcome.request;
    return { kind: outcome.kind, key, digest, reply, positions };
  });

async function everything(store: Store, tenant_id: string): Promise<unknown> {
  const projects = await store.projects(tenant_id);
  const states = projects.map(async (project_id) => ({
    row: await store.project({ tenant_id, project_id }),
    heads: await store.scanHeads({ tenant_id, project_id }, { after: null, limit: 100 }),
    events: await store.events({ tenant_id, project_id }, { after: 0, limit: 1000 }),
  }));
  const live = ['scope0', 'scope1', 'claims'].map((scope) => store.countPermits(tenant_id, scope));
  return { projects, states: await Promise.all(states), live: await Promise.all(live) };
}
