import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../core/events/envelope.js';
import { fold } from '../core/fold.js';
import { eventOf, swapOf, transactionOf } from './conformance/fixture.js';
import { type LedgerSnapshot, ProjectLedger, type TransactionFields } from './ledger.js';
import { TenantPermits } from './permits.js';
import type { FoldHead, Transaction } from './store.js';

const KEY = { tenant_id: 't', project_id: 'p' };
const foldHead = fold as FoldHead;
const newLedger = () => new ProjectLedger(KEY, new TenantPermits());

/** A committed transaction as a log holds it. */
interface LoggedCommit {
  events: readonly EventEnvelope[];
  fields: TransactionFields;
  now_ms: number;
}

/** Random work on a few subjects. */
const work = fc.array(
  fc.record({
    subject: fc.constantFrom('~a', '~b', '~c'),
    events: fc.integer({ min: 1, max: 3 }),
    note: fc.option(fc.constantFrom('n1', 'n2', 'n3')),
    until_ms: fc.constantFrom(null, 20, 60, Number.POSITIVE_INFINITY),
    request: fc.option(fc.constantFrom('k1', 'k2', 'k3')),
    changes_rules: fc.boolean(),
  }),
  { maxLength: 40, size: 'max' },
);
type GeneratedWork = (typeof work extends fc.Arbitrary<infer T> ? T : never)[number];

function transactionFor(
  ledger: ProjectLedger,
  { subject, events, note: looseEvent, until_ms, request, changes_rules }: GeneratedWork,
): Transaction {
  return transactionOf(KEY, {
    swaps: [swapOf(KEY, subject, ledger.head(subject)?.seq ?? 0, events)],
    loose_events: looseEvent === null ? [] : [eventOf(KEY, { event_id: looseEvent })],
    permits: [{ scope: 's', member: subject, until_ms }],
    requests: request === null ? [] : [{ key: request, digest: 'd', keep: true, reply: { request } }],
    changes_rules,
  });
}

function commitWork(ledger: ProjectLedger, works: readonly GeneratedWork[], fromMs: number): LoggedCommit[] {
  return works.flatMap((generated, i) => {
    const now_ms = fromMs + i;
    const { events, first_position, fields } = ledger.apply(transactionFor(ledger, generated), now_ms);
    const placed = events.map((event, index) => ({ ...event, position: first_position + index }));
    return fields === null ? [] : [{ events: placed, fields, now_ms }];
  });
}

/** A copy of a snapshot that no longer changes with the ledger. */
function frozen({ heads, requests, loose_event_ids, permits, ...rest }: LedgerSnapshot): LedgerSnapshot {
  return {
    ...rest,
    heads: [...heads],
    requests: [...requests],
    loose_event_ids: [...loose_event_ids],
    permits: [...permits],
  };
}

/** The whole state of a ledger, in an order that does not depend on how it was reached. */
function stateOf(ledger: ProjectLedger): unknown {
  const { heads: _, permits, loose_event_ids, ...rest } = frozen(ledger.snapshot());
  const byMember = (a: { member: string }, b: { member: string }) => (a.member < b.member ? -1 : 1);
  return {
    ...rest,
    heads: ledger.headsPage(null, 100),
    permits: [...permits].sort(byMember),
    loose_event_ids: [...loose_event_ids].sort(),
  };
}

describe('a ledger', () => {
  it('rebuilt from its log equals the ledger that wrote it', () => {
    fc.assert(
      fc.property(work, (works) => {
        const ledger = newLedger();
        const log = commitWork(ledger, works, 0);
        const rebuilt = newLedger();
        for (const { events, fields, now_ms } of log) rebuilt.restore(events, fields, foldHead, now_ms);
        expect(stateOf(rebuilt)).toEqual(stateOf(ledger));
        expect(rebuilt.isWritten).toBe(ledger.isWritten);
      }),
    );
  });

  it('loaded from a snapshot and the log after it equals the original, even if commits ran while the snapshot was read', () => {
    fc.assert(
      fc.property(work, work, work, (before, meanwhile, after) => {
        const ledger = newLedger();
        commitWork(ledger, before, 0);
        const snapshot = ledger.snapshot();
        const log = commitWork(ledger, meanwhile, 40);
        const frozenSnapshot = frozen(snapshot);
        log.push(...commitWork(ledger, after, 80));
        const loaded = ProjectLedger.load(KEY, new TenantPermits(), frozenSnapshot);
        for (const { events, fields, now_ms } of log) loaded.restore(events, fields, foldHead, now_ms);
        expect(withoutExpired(stateOf(loaded))).toEqual(withoutExpired(stateOf(ledger)));
      }),
    );
  });

  it('returns nothing to log for a transaction that wrote nothing', () => {
    const ledger = newLedger();
    expect(ledger.apply(transactionOf(KEY, {}), 0)).toMatchObject({
      outcome: { kind: 'committed' },
      fields: null,
    });
    expect(ledger.apply(transactionOf(KEY, { not_after_ms: 0 }), 0)).toMatchObject({
      events: [],
      fields: null,
    });
    expect(ledger.isWritten).toBe(false);
  });

  it('returns only the fields that changed', () => {
    const ledger = newLedger();
    const swaps = [swapOf(KEY, '~a', 0)];
    expect(ledger.apply(transactionOf(KEY, { swaps }), 0).fields).toStrictEqual({});
    const permits = [{ scope: 's', member: 'm', until_ms: 9 }];
    const requests = [
      { key: 'k', digest: 'd', keep: true },
      { key: 'asked', digest: 'd', keep: false },
    ];
    expect(
      ledger.apply(transactionOf(KEY, { permits, requests, changes_rules: true }), 0).fields,
    ).toStrictEqual({
      rules_seq: 1,
      permits,
      requests: [{ key: 'k', digest: 'd', keep: true }],
    });
  });

  it('applies the last permit of a member if a transaction has several', () => {
    const permits = new TenantPermits();
    const ledger = new ProjectLedger(KEY, permits);
    const permitUntil = (until_ms: number | null) => ({ scope: 's', member: 'm', until_ms });
    const permitLimits = [{ scope: 's', max: 0 }];
    expect(
      ledger.apply(
        transactionOf(KEY, { permits: [permitUntil(null), permitUntil(9)], permit_limits: permitLimits }),
        0,
      ).outcome.kind,
    ).toBe('full');
    expect(
      ledger.apply(
        transactionOf(KEY, { permits: [permitUntil(9), permitUntil(null)], permit_limits: permitLimits }),
        0,
      ).outcome.kind,
    ).toBe('committed');
    expect(permits.count('s', 0)).toBe(0);
  });

  it('removes expired permits even if they are never counted', () => {
    const ledger = newLedger();
    const takenPermit = (member: string, until_ms: number) => ({
      permits: [{ scope: 's', member, until_ms }],
    });
    ledger.apply(transactionOf(KEY, takenPermit('old', 10)), 0);
    ledger.apply(transactionOf(KEY, takenPermit('new', 30)), 20);
    expect([...ledger.snapshot().permits].map(({ member }) => member)).toEqual(['new']);
  });

  it('refuses to be rebuilt from a log with a gap', () => {
    const [first, second] = commitWork(newLedger(), [workOn('~a'), workOn('~a')], 0) as [
      LoggedCommit,
      LoggedCommit,
    ];
    expect(() => newLedger().restore(second.events, {}, foldHead, 0)).toThrow('position 2 after position 0');
    const ledger = newLedger();
    ledger.restore(first.events, {}, foldHead, 0);
    const skipping = second.events.map((event) => ({ ...event, seq: 3 }));
    expect(() => ledger.restore(skipping, {}, foldHead, 0)).toThrow('events are missing');
  });
});

const workOn = (subject: '~a'): GeneratedWork => ({
  subject,
  events: 1,
  note: null,
  until_ms: null,
  request: null,
  changes_rules: false,
});

/** Two ledgers may have released expired permits at different times. */
const withoutExpired = (state: unknown) => {
  const { permits, ...rest } = state as { permits: { until_ms: number }[] };
  return { ...rest, permits: permits.filter(({ until_ms }) => until_ms > 120) };
};

describe('a malformed transaction', () => {
  const good = swapOf(KEY, '~a', 0, 2);
  const [first, second] = good.events as [EventEnvelope, EventEnvelope];
  const swapped = (parts: object): Partial<Transaction> => ({ swaps: [{ ...good, ...parts }] });
  const cases: [string, Partial<Transaction>, string][] = [
    ['a swap without events', swapped({ events: [], head: { subject: '~a', seq: 0 } }), 'has no events'],
    ['a head that is ahead', swapped({ head: { subject: '~a', seq: 3 } }), 'has seq 3, not 2'],
    ['a head of another subject', swapped({ head: { subject: '~b', seq: 2 } }), 'has the head of ~b'],
    ['events in the wrong order', swapped({ events: [second, first] }), 'event 2 of ~a is in place'],
    ['an event of another subject', swapped({ events: [first, { ...second, subject: '~b' }] }), 'of ~b'],
    [
      'an event of another tenant',
      swapped({ events: [first, { ...second, tenant_id: 'u' }] }),
      'belongs to u/p',
    ],
    ['a negative seq', swapped({ expected_seq: -1 }), 'the expected seq -1 of ~a'],
    [
      'a position before its commit',
      { loose_events: [{ ...eventOf(KEY, {}), position: 9 } as never] },
      'has a position',
    ],
    ['a loose event with a seq', { loose_events: [eventOf(KEY, { seq: 1 })] }, 'but changes no head'],
    ['a subject swapped twice', { swaps: [good, good] }, '~a is swapped twice'],
    [
      'a repeated request',
      {
        requests: [
          { key: 'k', digest: 'd', keep: true },
          { key: 'k', digest: 'e', keep: true },
        ],
      },
      'k is requested twice',
    ],
  ];

  it.each(cases)('is refused with an error, and nothing changes: %s', (_, parts, sentence) => {
    const ledger = newLedger();
    expect(() => ledger.apply(transactionOf(KEY, parts), 0)).toThrow(sentence);
    expect(ledger.position).toBe(0);
  });
});
