import { randomUUID } from 'node:crypto';
import { isoTime, type NewEvent } from '../../core/events/envelope.js';
import { type AnyHead, fold } from '../../core/fold.js';
import type { CommitOutcome, HeadSwap, ProjectKey, Store, StoredHead, Transaction } from '../store.js';
import { transactionOf } from '../transaction.js';
import { expect } from './expect.js';

export { transactionOf } from '../transaction.js';

export interface StoreUnderTest {
  readonly store: Store;
  /** Advances the store's time. Without it, the suite relies on real time. */
  readonly clock?: { advance(byMs: number): void } | null;
  /** Closes the store and opens its data again. Required for a durable store. */
  readonly reopen?: () => Promise<Store>;
}

export type CommittedOutcome = Extract<CommitOutcome, { kind: 'committed' }>;

/** Far in the past, so that no store advances its clock to the time of an event. */
const EVENTS_FROM_MS = Date.UTC(2020, 0, 1);
const WAIT_ROUNDS_MAX = 1_000_000;

/** The project that most tests use. */
export const PROJECT = 'p';

/** The fixture of one test: a store, and a tenant that no other test uses. */
export class StoreFixture {
  store: Store;
  readonly projectKey: ProjectKey;

  constructor(
    private readonly storeUnderTest: StoreUnderTest,
    readonly tenant_id: string,
  ) {
    this.store = storeUnderTest.store;
    this.projectKey = this.keyOf(PROJECT);
  }

  get canReopen(): boolean {
    return this.storeUnderTest.reopen !== undefined;
  }

  keyOf(project_id: string, tenant_id = this.tenant_id): ProjectKey {
    return { tenant_id, project_id };
  }

  async reopen(): Promise<void> {
    if (this.storeUnderTest.reopen !== undefined) this.store = await this.storeUnderTest.reopen();
  }

  async commit(parts: Partial<Transaction>, projectKey = this.projectKey): Promise<CommitOutcome> {
    const [outcome] = await this.store.commit([transactionOf(projectKey, parts)]);
    return outcome as CommitOutcome;
  }

  /** Commits a transaction that the test expects to be accepted. */
  async expectCommitted(
    parts: Partial<Transaction>,
    projectKey = this.projectKey,
  ): Promise<CommittedOutcome> {
    const outcome = await this.commit(parts, projectKey);
    expect(outcome.kind).toBe('committed');
    return outcome as CommittedOutcome;
  }

  swap(subject: string, expectedSeq = 0, eventCount = 1): HeadSwap {
    return swapOf(this.projectKey, subject, expectedSeq, eventCount);
  }

  async head(subject: string, projectKey = this.projectKey): Promise<StoredHead | null> {
    const [head] = await this.store.heads(projectKey, [subject]);
    return head as StoredHead | null;
  }

  /** Resolves when the store's clock has advanced by that much. */
  async advanceClock(byMs: number): Promise<void> {
    const untilMs = (await this.store.now()) + byMs;
    this.storeUnderTest.clock?.advance(byMs);
    for (let round = 0; (await this.store.now()) < untilMs; round += 1) {
      if (round === WAIT_ROUNDS_MAX) throw new Error('The clock of the store does not advance.');
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

export function eventOf(projectKey: ProjectKey, fields: Partial<NewEvent>): NewEvent {
  return {
    event_id: randomUUID(),
    event_type: 'thing_happened',
    timestamp: isoTime(EVENTS_FROM_MS),
    tenant_id: projectKey.tenant_id,
    project_id: projectKey.project_id,
    agent_id: 'agent-1',
    payload: {},
    ...fields,
  };
}

/** A swap whose head comes from the real fold, because a store that keeps only events must rebuild the same head. */
export function swapOf(
  projectKey: ProjectKey,
  subject: string,
  expectedSeq: number,
  eventCount = 1,
): HeadSwap {
  const events = Array.from({ length: eventCount }, (_, index) => {
    const seq = expectedSeq + 1 + index;
    return eventOf(projectKey, { subject, seq, payload: { record: { said: `${subject} ${seq}` } } });
  });
  return swapWith(subject, expectedSeq, events);
}

export function swapWith(subject: string, expected_seq: number, events: readonly NewEvent[]): HeadSwap {
  // The fold of a record uses only the seq of the previous head.
  let head = (expected_seq === 0 ? null : { subject, seq: expected_seq }) as AnyHead | null;
  for (const event of events) head = fold(head, event);
  return { subject, expected_seq, head: head as AnyHead, events };
}

export const kindsOf = (outcomes: readonly CommitOutcome[]): string[] =>
  outcomes.map((outcome) => outcome.kind);

export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
