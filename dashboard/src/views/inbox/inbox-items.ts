import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import type { Priority } from '../../../../src/core/contract/values.js';
import type { Reply } from '../../api/call.js';

type Review = Reply<'pending_reviews'>['reviews'][number];
type Proposal = Reply<'pending_reviews'>['proposals'][number];
type Escalation = Reply<'start'>['escalations'][number];
type Waiting = Reply<'status'>['waiting'][number];

export const INBOX_KINDS = ['review', 'proposal', 'stale', 'escalation', 'parked', 'held', 'limit'] as const;
export type InboxKind = (typeof INBOX_KINDS)[number];

interface ItemFields {
  /** A stable key of the item, so that typed text stays with the item. */
  readonly key: string;
  readonly urgency: Priority;
  /** When the item began to wait; null if unknown. */
  readonly since: string | null;
}
export type InboxItem = ItemFields &
  (
    | { readonly kind: 'review'; readonly review: Review }
    | { readonly kind: 'proposal'; readonly proposal: Proposal }
    | { readonly kind: 'stale' | 'held'; readonly waiting: Waiting }
    | { readonly kind: 'parked'; readonly task_id: string; readonly count: number }
    | { readonly kind: 'escalation'; readonly escalation: Escalation }
    | { readonly kind: 'limit'; readonly limit: ReachedLimit }
  );
export type ItemOf<Kind extends InboxKind> = Extract<InboxItem, { kind: Kind }>;

/** A limit of the tenant that refused claims in the last hour, or the limit of generations that a task has reached. */
interface ReachedLimit {
  readonly name: string;
  readonly refusedCount: number;
  readonly agents: readonly string[];
  /** The task, if the limit applies to one task. */
  readonly task_id: string | null;
  readonly message: string;
}

/** The replies from which the inbox is built. A reply that is not read yet is missing. */
export interface InboxSources {
  readonly status?: Reply<'status'> | undefined;
  readonly reviews?: Reply<'pending_reviews'> | undefined;
  readonly escalations?: readonly Escalation[] | undefined;
  readonly events?: readonly EventEnvelope[] | undefined;
}

const URGENCY_RANKS: Readonly<Record<Priority, number>> = { critical: 0, high: 1, medium: 2, low: 3 };
const LIMIT_WINDOW_MS = 3600 * 1000;

/** What needs a person: the most urgent first, of those the oldest. */
export function inboxItems(sources: InboxSources, nowMs: number): InboxItem[] {
  const { status, reviews, escalations = [], events = [] } = sources;
  const items: InboxItem[] = [
    ...(reviews?.reviews ?? []).map(reviewItem),
    ...(reviews?.proposals ?? []).map(proposalItem),
    ...waitingItems(status, escalations),
    ...(status?.parked ?? []).map(parkedItem),
    ...limitItems(events, nowMs),
  ];
  return [...items, ...escalationItems(escalations, items)].sort(byUrgencyAndAge);
}

function byUrgencyAndAge(a: InboxItem, b: InboxItem): number {
  const sinceOrLast = (item: InboxItem): string => item.since ?? '~';
  return (
    URGENCY_RANKS[a.urgency] - URGENCY_RANKS[b.urgency] ||
    compare(sinceOrLast(a), sinceOrLast(b)) ||
    compare(a.key, b.key)
  );
}
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A review is urgent, because an agent waits for it with a suspended claim. */
function reviewItem(review: Review): InboxItem {
  const { task_id, generation, iteration, candidate_sha256, since } = review;
  const key = `review:${task_id}:${generation}:${iteration}:${candidate_sha256}`;
  return { kind: 'review', key, urgency: 'high', since, review };
}

const proposalItem = (proposal: Proposal): InboxItem => ({
  kind: 'proposal',
  key: `proposal:${proposal.proposal_id}`,
  urgency: 'medium',
  since: proposal.since,
  proposal,
});

const parkedItem = ({ task_id, parked }: { task_id: string; parked: number }): InboxItem => ({
  kind: 'parked',
  key: `parked:${task_id}`,
  urgency: 'medium',
  since: null,
  task_id,
  count: parked,
});

/** Stale claims, work on hold, and tasks without generations left. Suspended work is a review already. */
function waitingItems(status: InboxSources['status'], escalations: readonly Escalation[]): InboxItem[] {
  const claimedAtByTask = new Map(
    (status?.claims ?? []).map(({ task_id, claimed_at }) => [task_id, claimed_at]),
  );
  const raisedAtBySubject = new Map(
    escalations.map((each) => [`${each.feature_id}#${each.edge}`, each.since]),
  );
  return (status?.waiting ?? []).flatMap((waiting): InboxItem[] => {
    const { task_id, readiness, reason } = waiting;
    const since = raisedAtBySubject.get(task_id) ?? claimedAtByTask.get(task_id) ?? null;
    const fields = { key: `${readiness}:${task_id}`, since };
    if (readiness === 'stale') return [{ ...fields, kind: 'stale', urgency: 'high', waiting }];
    if (readiness === 'held') return [{ ...fields, kind: 'held', urgency: 'low', waiting }];
    if (readiness !== 'exhausted') return [];
    const limit = { name: 'max_generations_per_task', refusedCount: 0, agents: [], task_id, message: reason };
    return [{ ...fields, kind: 'limit', urgency: 'high', limit }];
  });
}

/** The kind of item that already shows an escalation of a task. */
const SHOWN_AS: Readonly<Partial<Record<Escalation['kind'], InboxKind>>> = {
  review: 'review',
  escalation: 'review',
  hold: 'held',
  stale_claim: 'stale',
};

function escalationItems(escalations: readonly Escalation[], items: readonly InboxItem[]): InboxItem[] {
  const shown = new Set(items.map((item) => `${item.kind} ${taskOf(item)}`));
  return escalations
    .filter(({ kind, feature_id, edge }) => !shown.has(`${SHOWN_AS[kind]} ${feature_id}#${edge}`))
    .map(escalationItem);
}

function taskOf(item: InboxItem): string | null {
  if (item.kind === 'review') return item.review.task_id;
  return item.kind === 'stale' || item.kind === 'held' ? item.waiting.task_id : null;
}

const escalationItem = (escalation: Escalation): InboxItem => ({
  kind: 'escalation',
  key: `escalation:${escalation.kind}:${escalation.feature_id}:${escalation.edge}:${escalation.since}:${escalation.says}`,
  urgency: escalation.severity,
  since: escalation.since,
  escalation,
});

/** Limits of the tenant that refused claims in the last hour, one item each. */
function limitItems(events: readonly EventEnvelope[], nowMs: number): InboxItem[] {
  const byName = new Map<string, EventEnvelope[]>();
  for (const event of new Map(events.map((each) => [each.event_id, each])).values()) {
    const { reason, limit } = event.payload;
    if (reason !== 'DENIED_LIMIT' || Date.parse(event.timestamp) < nowMs - LIMIT_WINDOW_MS) continue;
    const name = typeof limit === 'string' ? limit : 'a limit';
    byName.set(name, [...(byName.get(name) ?? []), event]);
  }
  return [...byName].map(([name, refusals]): InboxItem => {
    const agents = [...new Set(refusals.map(({ agent_id }) => agent_id))];
    const message = 'Claims were refused in the last hour. Release claims, or raise the limit: gen limits.';
    const limit = { name, refusedCount: refusals.length, agents, task_id: null, message };
    const since = refusals.map(({ timestamp }) => timestamp).sort()[0] ?? null;
    return { kind: 'limit', key: `limit:${name}`, urgency: 'medium', since, limit };
  });
}

/** Keys of the texts that a person may be writing about an item: a comment, or the reason of an action. */
export function unsentTextKeysOf(item: InboxItem): readonly string[] {
  if (item.kind === 'parked') return [`adopt:${item.task_id}`];
  if (item.kind === 'held') return [`unhold:${item.waiting.task_id}`];
  if (item.kind === 'stale')
    return [`force_release:${item.waiting.task_id}`, `reassign:${item.waiting.task_id}`];
  return [item.key];
}

/** The items, and those that have gone while a person was writing about them, so that no text is lost. */
export function keepItemsWithUnsentText(
  shown: readonly InboxItem[],
  items: readonly InboxItem[],
  hasUnsentText: (item: InboxItem) => boolean,
): readonly InboxItem[] {
  const current = new Set(items.map(({ key }) => key));
  const goneItems = shown.filter((item) => !current.has(item.key) && hasUnsentText(item));
  return goneItems.length === 0 ? items : [...goneItems, ...items];
}
