import { describe, expect, test } from 'vitest';
import { type InboxSources, inboxItems, keepItemsWithUnsentText } from './inbox-items.js';

const HOUR_MS = 3600 * 1000;
const NOW_MS = 10 * HOUR_MS;
const isoAt = (ms: number): string => new Date(ms).toISOString();

const review = (task_id: string, ms: number) => ({
  task_id,
  generation: 1,
  iteration: 1,
  candidate_sha256: 'a'.repeat(64),
  since: isoAt(ms),
});
const statusWith = (waiting: object[], parked: object[] = [], claims: object[] = []) => ({
  waiting,
  parked,
  claims,
});
const escalationWith = (kind: string, more: object = {}) => ({
  kind,
  feature_id: 'F',
  edge: 'e',
  severity: 'medium',
  since: isoAt(5),
  says: 's',
  next: 'n',
  ...more,
});
const denialWith = (event_id: string, ms: number, more: object = {}) => ({
  event_id,
  timestamp: isoAt(ms),
  agent_id: 'ada',
  payload: { reason: 'DENIED_LIMIT', limit: 'max_claims', ...more },
});
const itemsOf = (sources: object) => inboxItems(sources as InboxSources, NOW_MS);
const kindsOf = (sources: object) => itemsOf(sources).map(({ kind }) => kind);

describe('the inbox', () => {
  test('is empty while nothing is read', () => {
    expect(itemsOf({})).toEqual([]);
  });

  test('lists the most urgent items first, equally urgent items by age, and items without a time last', () => {
    const items = itemsOf({
      reviews: {
        reviews: [review('young', 20), review('old', 10)],
        proposals: [{ proposal_id: 'p', since: isoAt(1), tasks: [] }],
      },
      status: statusWith([{ task_id: 'h', readiness: 'held' }], [{ task_id: 'k', parked: 2 }]),
      escalations: [escalationWith('stuck', { severity: 'critical', since: isoAt(99) })],
    });
    expect(items.map(({ key }) => key.split(':').slice(0, 2).join(' '))).toEqual([
      'escalation stuck',
      'review old',
      'review young',
      'proposal p',
      'parked k',
      'held h',
    ]);
  });

  test('shows since when a stale claim has been held', () => {
    const waiting = [{ task_id: 't', readiness: 'stale' }];
    const [item] = itemsOf({ status: statusWith(waiting, [], [{ task_id: 't', claimed_at: isoAt(7) }]) });
    expect(item).toMatchObject({ kind: 'stale', urgency: 'high', since: isoAt(7) });
  });

  test('lists suspended work once, as a review', () => {
    const waiting = [{ task_id: 't', readiness: 'suspended' }];
    expect(
      kindsOf({ reviews: { reviews: [review('t', 1)], proposals: [] }, status: statusWith(waiting) }),
    ).toEqual(['review']);
  });

  test('lists an escalation only once if another item already shows it', () => {
    const sources = {
      reviews: { reviews: [review('F#e', 1)], proposals: [] },
      status: statusWith([{ task_id: 'F#g', readiness: 'held' }]),
      escalations: [
        escalationWith('escalation'),
        escalationWith('review'),
        escalationWith('hold', { edge: 'g' }),
        escalationWith('intent'),
      ],
    };
    expect(kindsOf(sources)).toEqual(['review', 'escalation', 'held']);
    expect(kindsOf({ escalations: [escalationWith('hold')] })).toEqual(['escalation']);
  });

  test('lists each limit that was reached in the last hour once', () => {
    const events = [
      denialWith('1', NOW_MS - HOUR_MS - 1),
      denialWith('2', NOW_MS - 10),
      denialWith('3', NOW_MS - 20, { agent: 'x' }),
      denialWith('2', NOW_MS - 10),
      denialWith('4', NOW_MS, { reason: 'DENIED_HELD' }),
    ];
    expect(itemsOf({ events })).toMatchObject([
      {
        kind: 'limit',
        since: isoAt(NOW_MS - 20),
        limit: { name: 'max_claims', refusedCount: 2, agents: ['ada'] },
      },
    ]);
  });

  test('lists a task that has no generations left as a reached limit', () => {
    const waiting = [{ task_id: 't', readiness: 'exhausted', reason: 'generation 3 is the last' }];
    expect(itemsOf({ status: statusWith(waiting) })).toMatchObject([
      { kind: 'limit', limit: { task_id: 't' } },
    ]);
  });
});

test('an item stays while a person is writing an answer to it, and only then', () => {
  const [old, begun, other] = itemsOf({
    reviews: { reviews: [review('1', 1), review('2', 2), review('3', 3)], proposals: [] },
  });
  if (!old || !begun || !other) throw new Error('three reviews give three items');
  const isBegun = ({ key }: { key: string }) => key === begun.key;
  expect(keepItemsWithUnsentText([old, begun], [other], isBegun)).toEqual([begun, other]);
  expect(keepItemsWithUnsentText([begun], [begun], isBegun)).toEqual([begun]);
  expect(keepItemsWithUnsentText([begun], [other], () => false)).toEqual([other]);
});
