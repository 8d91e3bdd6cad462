import { factOf } from '../../core/claims/facts.js';
import type { Head } from '../../core/claims/head.js';
import { msOf, type NewEvent } from '../../core/events/envelope.js';
import { kindOf } from '../../core/subject.js';
import type { Unit } from '../../stores/store.js';
import type { ProjectLabels } from './labels.js';
import { codeOf, resultName } from './results.js';

/** Tasks under way whose first grant is remembered, for the time until they are complete. */
const BEGUN_MAX = 100_000;

export interface Durations {
  claimEnded(labels: ProjectLabels, seconds: number): void;
  taskCompleted(labels: ProjectLabels, seconds: number, generations: number): void;
}

/** What one project's commands came to, as plain numbers: a command costs a few additions, a scrape does the rest. */
export class Tally {
  readonly claims = new Map<string, number>();
  readonly results = new Map<string, number>();
  renewed = 0;
  renewals_failed = 0;
  expirations = 0;
  generations = 0;
  private readonly begun = new Map<string, number>();

  constructor(
    readonly labels: ProjectLabels,
    private readonly durations: Durations,
  ) {}

  answered(kind: string, reply: unknown): void {
    switch (kind) {
      case 'claim':
      case 'next':
        add(this.claims, resultName(codeOf(reply)));
        return;
      case 'batch_claim':
        for (const one of Array.isArray(reply) ? reply : [reply]) add(this.claims, resultName(codeOf(one)));
        return;
      case 'submit':
        add(this.results, resultName(codeOf(reply)));
        return;
      case 'renew':
        if (codeOf(reply) === 'RENEWED') this.renewed += 1;
        else this.renewals_failed += 1;
    }
  }

  committed(unit: Unit): void {
    for (const { head, events } of unit.swaps) {
      if (kindOf(head.subject) === 'record') continue;
      for (const event of events) this.happened(event, head as Head);
    }
  }

  private happened(event: NewEvent, head: Head): void {
    switch (factOf(event.event_type)) {
      case 'granted':
        this.generations += 1;
        this.begin(head.subject, msOf(event.timestamp));
        return;
      case 'lost':
        if (event.payload.cause === 'EXPIRED') this.expirations += 1;
        if (event.payload.disposition === 'eligible') this.ended(event, head);
        return;
      case 'released':
        this.ended(event, head);
        return;
      case 'accepted':
      case 'adopted':
        this.ended(event, head);
        this.completed(event, head);
    }
  }

  private begin(subject: string, at_ms: number): void {
    if (this.begun.size < BEGUN_MAX && !this.begun.has(subject)) this.begun.set(subject, at_ms);
  }

  private ended(event: NewEvent, { claim, generation }: Head): void {
    // A head that has gone on to another generation in the same unit no longer tells when this one began.
    if (claim === null || event.generation !== generation) return;
    this.durations.claimEnded(this.labels, (msOf(event.timestamp) - claim.claimed_at_ms) / 1000);
  }

  /** From the first grant on; from the last one, where the first was before this server began. */
  private completed(event: NewEvent, { subject, claim, generation }: Head): void {
    const at_ms = msOf(event.timestamp);
    const from_ms = this.begun.get(subject) ?? claim?.claimed_at_ms ?? at_ms;
    this.begun.delete(subject);
    this.durations.taskCompleted(this.labels, (at_ms - from_ms) / 1000, generation);
  }
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
