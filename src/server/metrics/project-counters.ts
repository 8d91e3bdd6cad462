import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { Head } from '../../core/claims/head.js';
import { msOf, type NewEvent } from '../../core/events/envelope.js';
import { subjectKindOf } from '../../core/subject.js';
import type { Transaction } from '../../stores/store.js';
import { BucketCounts } from './bucket-counts.js';
import type { ProjectLabels } from './labels.js';

/** Maximum number of open tasks whose first grant is remembered, to measure the time to completion. */
const FIRST_GRANTS_MAX = 100_000;

/** The codes that have other names in specification 004 §8.1; all other codes are lower-cased. */
const RESULT_NAMES: Readonly<Record<string, string>> = {
  DENIED_ACTIVE_CLAIM: 'denied_active',
  DENIED_COMPLETED: 'denied_completed',
};

const SECONDS_OF_CLAIM = [1, 5, 15, 60, 300, 900, 3600];
const SECONDS_TO_COMPLETION = [10, 60, 300, 900, 3600, 7200];
const GENERATIONS_OF_TASK = [1, 2, 3, 5, 10, 20, 50];

/** Counts one project's outcomes as plain numbers: a command costs a few additions, and a scrape does the rest. */
export class ProjectCounters {
  readonly claims = new Map<string, number>();
  readonly results = new Map<string, number>();
  readonly renewals = new Map([
    ['renewed', 0],
    ['failed', 0],
  ]);
  expirations = 0;
  generations = 0;
  readonly claimSeconds = new BucketCounts(SECONDS_OF_CLAIM);
  readonly completionSeconds = new BucketCounts(SECONDS_TO_COMPLETION);
  readonly generationsPerTask = new BucketCounts(GENERATIONS_OF_TASK);
  private readonly firstGrantMs = new Map<string, number>();

  constructor(readonly labels: ProjectLabels) {}

  countReply(kind: string, reply: unknown): void {
    switch (kind) {
      case 'claim':
      case 'next':
      case 'batch_claim':
        for (const item of Array.isArray(reply) ? reply : [reply]) increment(this.claims, resultNameOf(item));
        return;
      case 'submit':
        increment(this.results, resultNameOf(reply));
        return;
      case 'renew':
        increment(this.renewals, resultNameOf(reply) === 'renewed' ? 'renewed' : 'failed');
    }
  }

  countTransaction(transaction: Transaction): void {
    for (const { head, events } of transaction.swaps) {
      if (subjectKindOf(head.subject) === 'record') continue;
      for (const event of events) this.countEvent(event, head as Head);
    }
  }

  countEvent(event: NewEvent, head: Head): void {
    switch (claimEventKindOf(event.event_type)) {
      case 'granted':
        this.generations += 1;
        this.rememberFirstGrant(head.subject, msOf(event.timestamp));
        return;
      case 'lost':
        if (event.payload.cause === 'EXPIRED') this.expirations += 1;
        if (event.payload.disposition === 'eligible') this.observeClaimEnd(event, head);
        return;
      case 'released':
        this.observeClaimEnd(event, head);
        return;
      case 'accepted':
      case 'adopted':
        this.observeClaimEnd(event, head);
        this.observeCompletion(event, head);
    }
  }

  private rememberFirstGrant(subject: string, atMs: number): void {
    if (this.firstGrantMs.size < FIRST_GRANTS_MAX && !this.firstGrantMs.has(subject))
      this.firstGrantMs.set(subject, atMs);
  }

  private observeClaimEnd(event: NewEvent, { claim, generation }: Head): void {
    // If the same transaction advanced the head to another generation, the start of this one is no longer known.
    if (claim === null || event.generation !== generation) return;
    const claimMs = msOf(event.timestamp) - claim.claimed_at_ms;
    this.claimSeconds.observe(claimMs / 1000);
  }

  /** Measured from the first grant, or from the last if this server has not seen or not remembered the first. */
  private observeCompletion(event: NewEvent, { subject, claim, generation }: Head): void {
    const atMs = msOf(event.timestamp);
    const fromMs = this.firstGrantMs.get(subject) ?? claim?.claimed_at_ms ?? atMs;
    this.firstGrantMs.delete(subject);
    this.completionSeconds.observe((atMs - fromMs) / 1000);
    this.generationsPerTask.observe(generation);
  }
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The name of a reply: by the decision's reason, or the problem. */
function resultNameOf(reply: unknown): string {
  const { reason, problem } = reply as { reason?: string; problem?: string };
  const code = reason ?? problem ?? 'DONE';
  return RESULT_NAMES[code] ?? code.toLowerCase();
}
