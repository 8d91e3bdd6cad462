import { type EventEnvelope, msOf } from '../events/envelope.js';
import { type AnyHead, fold } from '../fold.js';
import { kindOf } from '../subject.js';
import { factOf, isNote } from './facts.js';
import { emptyHead, type Head } from './head.js';
import { MergeWatch } from './invariants/merges.js';
import { sameValue } from './invariants/same.js';
import { checkStep } from './invariants/step.js';
import type { Payloads } from './payloads.js';
import type { Rules } from './policy.js';

export interface Violation {
  /** `INV-nn`. */
  readonly invariant: string;
  /** Of the event that broke it; of the last one seen when the log as a whole does. */
  readonly position: number;
  readonly subject: string | null;
  /** A sentence for the person who has to find out why. */
  readonly says: string;
}

interface Watched {
  head: AnyHead | null;
  /** Refused results that were kept: what an adoption may name. By result id: generation and digest. */
  readonly parked: Map<string, string>;
}

/**
 * Judges one project's log, an event at a time and in order. What it finds wrong it reports once and then goes on
 * from what the log says, so that one fault does not hide or repeat itself in all that follows.
 */
export class LogChecker {
  private readonly subjects = new Map<string, Watched>();
  private readonly merges = new MergeWatch((subject) => this.subjects.get(subject)?.head as Head | undefined);
  private position = 0;

  /** The rules of a subject as they are at the event in hand; null where nobody knows them any more. */
  constructor(private readonly rulesOf: (subject: string) => Rules | null) {}

  see(event: EventEnvelope): Violation[] {
    const found: Violation[] = [];
    const say = (invariant: string, says: string): void => {
      found.push({ invariant, position: event.position, subject: event.subject ?? null, says });
    };
    if (event.position !== this.position + 1) {
      say('INV-21', `position ${event.position} follows ${this.position}`);
    }
    this.position = event.position;
    if (event.subject === undefined) return found;
    const watched = this.watch(event.subject);
    if (event.seq === undefined) this.seeNote(event, watched, say);
    else this.seeMove(event, event.seq, watched, say);
    return found;
  }

  /** Whether the heads a store keeps are the folds of its log: all of them, and no others. */
  finish(heads: Iterable<AnyHead>): Violation[] {
    const found: Violation[] = [];
    const left = new Set<string>();
    for (const [subject, { head }] of this.subjects) if (head !== null) left.add(subject);
    const say = (subject: string, says: string): void => {
      found.push({ invariant: 'INV-08', position: this.position, subject, says });
    };
    for (const head of heads) {
      left.delete(head.subject);
      const folded = this.subjects.get(head.subject)?.head ?? null;
      if (folded === null) say(head.subject, 'a head that no event made');
      else if (!sameValue(folded, head)) say(head.subject, 'the head is not the fold of its events');
    }
    for (const subject of left) say(subject, 'its events made a head, and the head is not there');
    return found;
  }

  private watch(subject: string): Watched {
    let watched = this.subjects.get(subject);
    if (watched === undefined) {
      watched = { head: null, parked: new Map() };
      this.subjects.set(subject, watched);
    }
    return watched;
  }

  private seeNote(
    event: EventEnvelope,
    watched: Watched,
    say: (invariant: string, says: string) => void,
  ): void {
    const fact = factOf(event.event_type);
    if (fact !== undefined && !isNote(event)) {
      say('INV-09', `${event.event_type} moves a head and carries no seq`);
    }
    if (fact === 'noted') this.judge(event, watched, say);
    if (fact === 'result_denied') {
      const denied = event.payload as unknown as Payloads['result_denied'];
      if (denied.parked) {
        watched.parked.set(denied.result_id, `${denied.submitted_generation} ${denied.result_sha256}`);
      }
    }
  }

  private seeMove(
    event: EventEnvelope,
    seq: number,
    watched: Watched,
    say: (invariant: string, says: string) => void,
  ): void {
    const { head } = watched;
    const expected = (head?.seq ?? 0) + 1;
    if (seq !== expected) say('INV-09', `seq ${seq} where ${expected} was due`);
    if (head !== null && msOf(event.timestamp) < head.last_at_ms) {
      say('INV-09', `${event.timestamp} is before the event that went before it`);
    }
    if (kindOf(event.subject as string) !== 'record') this.judge(event, watched, say);
    watched.head = { ...fold(head, event), seq };
  }

  private judge(
    event: EventEnvelope,
    watched: Watched,
    say: (invariant: string, says: string) => void,
  ): void {
    const subject = event.subject as string;
    const before = (watched.head as Head | null) ?? emptyHead(subject);
    const fact = factOf(event.event_type);
    checkStep({ fact, event, before, rules: this.rulesOf(subject) }, say);
    this.merges.see(subject, fact, say);
    if (fact !== 'adopted') return;
    const { adopted_from: from, result_sha256 } = event.payload as unknown as Payloads['adopted'];
    if (watched.parked.get(from?.result_id) !== `${from?.generation} ${result_sha256}`) {
      say(
        'INV-17',
        `adopted ${from?.result_id}, which was never parked under generation ${from?.generation}`,
      );
    }
  }
}
