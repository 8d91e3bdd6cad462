import type { Head } from '../claims/head.js';
import type { AnyHead } from '../fold.js';
import type { RecordHead } from '../record.js';
import { subjectKindOf } from '../subject.js';
import { ClaimHeads, type HeadsSnapshot } from './claim-heads.js';

export interface HeadTableSnapshot extends Omit<HeadsSnapshot, 'heads'> {
  readonly heads: Iterable<AnyHead>;
}

/** The heads of a project: those of claimed work, and records such as the plan. */
export class HeadTable {
  readonly claims = new ClaimHeads();
  readonly records = new Map<string, RecordHead>();

  get(subject: string): AnyHead | undefined {
    return isRecordSubject(subject) ? this.records.get(subject) : this.claims.get(subject);
  }

  has(subject: string): boolean {
    return isRecordSubject(subject) ? this.records.has(subject) : this.claims.has(subject);
  }

  set(head: AnyHead): void {
    if (isRecordSubject(head.subject)) this.records.set(head.subject, head as RecordHead);
    else this.claims.set(head.subject, head as Head);
  }

  *subjects(): Generator<string> {
    yield* this.claims.keys();
    yield* this.records.keys();
  }

  /** All heads. The snapshot can be read later, even while heads change. See `ClaimHeads.snapshot`. */
  snapshot(): HeadTableSnapshot {
    const { pages, heads, summary } = this.claims.snapshot();
    return { pages, summary, heads: concatIterables<AnyHead>(heads, this.records.values()) };
  }

  /** Reads a snapshot into an empty table. */
  load({ pages, heads, summary }: HeadTableSnapshot): void {
    this.claims.loadPages(pages, summary);
    for (const head of heads) this.set(head);
  }

  get size(): number {
    return this.claims.size + this.records.size;
  }
}

function* concatIterables<T>(...lists: readonly Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list;
}

const isRecordSubject = (subject: string): boolean => subjectKindOf(subject) === 'record';
