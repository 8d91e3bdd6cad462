import { isoTime, type NewEvent } from '../../core/events/envelope.js';
import { eventOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import type { EventQuery, ProjectKey, Store, Transaction } from '../store.js';

/** What a store contains before a migration, and the replies that must be the same after it. */

const FOREVER = Number.POSITIVE_INFINITY;
const HOUR_MS = 3_600_000;

/** Heads, each with a permit in the scope `work`, events of every kind, requests, and permits of sessions. */
export function transactionsOf(projectKey: ProjectKey, looseEventCount: number): Transaction[] {
  const looseFields = (n: number): Partial<NewEvent> => ({
    event_type: n % 3 === 0 ? 'THIRD' : 'OTHER',
    agent_id: `agent-${n % 5}`,
    timestamp: isoTime(Date.UTC(2020, 0, 1) + (n - (n % 7)) * HOUR_MS),
    ...(n % 2 === 0 ? { session_id: `s${n % 7}`, feature_id: 'F-1', edge: 'design_code' } : {}),
    ...(n % 4 === 0 ? { task_id: 'T-1', subject: n % 8 === 0 ? 'T-1' : '~note' } : {}),
    payload: { n, text: 'é\n"quoted"' },
  });
  return [
    ...range(1, 40).map((n) =>
      transactionOf(projectKey, {
        swaps: [swapOf(projectKey, `~head${n}`, 0, 1 + (n % 3))],
        requests: [{ key: `k${n}`, digest: `d${n}`, keep: true, ...(n % 2 ? { reply: { n } } : {}) }],
        permits: [{ scope: 'work', member: `~head${n}`, until_ms: n % 2 ? FOREVER : Date.now() + HOUR_MS }],
      }),
    ),
    ...range(1, 3).map((n) =>
      transactionOf(projectKey, { permits: [{ scope: 'sessions', member: `s${n}`, until_ms: FOREVER }] }),
    ),
    ...range(1, looseEventCount).map((n) =>
      transactionOf(projectKey, { loose_events: [eventOf(projectKey, looseFields(n))] }),
    ),
    transactionOf(projectKey, { swaps: [swapOf(projectKey, '~head1', 2)], changes_rules: true }),
  ];
}

const QUERIES: Partial<EventQuery>[] = [
  {},
  { subject: '~head1' },
  { subject: '~note' },
  { task_id: 'T-1' },
  { session_id: 's4' },
  { agent_id: 'agent-3', types: ['THIRD'] },
  { types: ['THIRD', 'thing_happened'] },
  { feature_id: 'F-1', edge: 'design_code' },
  { since: isoTime(Date.UTC(2020, 0, 9)), until: isoTime(Date.UTC(2020, 0, 10)) },
  { after: 1000, until_position: 1090 },
  { after: 1000, until_position: 1090, agent_id: 'agent-3' },
];

/** What the methods that read the projects return. */
export async function contentOf(store: Store, projects: readonly ProjectKey[]): Promise<unknown[]> {
  const content: unknown[] = [];
  for (const projectKey of projects) {
    content.push(await store.project(projectKey), await store.projects(projectKey.tenant_id));
    content.push(await store.scanHeads(projectKey, { after: null, limit: 1000 }));
    content.push(await store.heads(projectKey, ['~head1', '~none', '~head40']));
    for (const scope of ['work', 'sessions', 'none'])
      content.push(await store.countPermits(projectKey.tenant_id, scope));
    for (const query of QUERIES)
      content.push(await store.events(projectKey, { after: 0, limit: 5000, ...query }));
  }
  return content;
}

/**
 * The outcomes of transactions that are refused or repeat an event, and of one that releases the permit on a head; then the
 * number of permits.
 */
export async function transactionOutcomesOf(
  store: Store,
  projects: readonly ProjectKey[],
): Promise<unknown[]> {
  const outcomes = [];
  for (const projectKey of projects) {
    const existing = (await store.events(projectKey, { after: 100, limit: 1, types: ['THIRD'] }))[0]!;
    const { position, ...looseEvent } = existing;
    outcomes.push(
      ...(await store.commit([
        transactionOf(projectKey, { requests: [{ key: 'k1', digest: '', keep: false }] }),
        transactionOf(projectKey, { requests: [{ key: 'k40', digest: '', keep: false }] }),
        transactionOf(projectKey, { swaps: [swapOf(projectKey, '~head2', 1)] }),
        transactionOf(projectKey, { loose_events: [looseEvent] }),
        transactionOf(projectKey, {
          swaps: [swapOf(projectKey, '~head3', 1)],
          permits: [{ scope: 'work', member: '~head3', until_ms: null, on_head: true }],
        }),
      ])),
    );
    outcomes.push(await store.countPermits(projectKey.tenant_id, 'work'));
  }
  return outcomes.map((outcome) => (typeof outcome === 'number' ? outcome : { ...outcome, now_ms: 0 }));
}
