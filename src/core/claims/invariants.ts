import { type EventEnvelope, msOf } from '../events/envelope.js';
import { type AnyHead, fold } from '../fold.js';
import { isJsonEqual } from '../json-equal.js';
import { subjectKindOf } from '../subject.js';
import { claimEventKindOf, isLooseEvent } from './claim-event-kinds.js';
import { emptyHead, type Head } from './head.js';
import { MergeChecker } from './invariants/merge-checker.js';
import { checkTransition } from './invariants/transition.js';
import type { ClaimEventPayloads } from './payloads.js';
import type { Rules } from './policy.js';

export interface InvariantViolation {
  /** `INV-nn`. */
  readonly invariant: string;
  /** Position of the violating event; of the last event seen if the violation concerns the log as a whole. */
  readonly position: number;
  readonly subject: string | null;
  /** Description for the person who investigates. */
  readonly message: string;
}

interface CheckedSubject {
  head: AnyHead | null;
  /** Parked results that an adoption may name. Key: result id; value: generation and digest. */
  readonly parked: Map<string, string>;
}

/**
 * Checks the invariants of one project's log, event by event in order. Reports each violation once and continues from
 * what the log says, so that one violation neither hides nor causes others.
 */
export class LogChecker {
  private readonly subjects = new Map<string, CheckedSubject>();
  private readonly mergeChecker = new MergeChecker(
    (subject) => this.subjects.get(subject)?.head as Head | undefined,
  );
  private position = 0;

  /** `rulesOf`: the rules of a subject at the current event; null if they are no longer known. */
  constructor(private readonly rulesOf: (subject: string) => Rules | null) {}

  checkEvent(event: EventEnvelope): InvariantViolation[] {
    const violations: InvariantViolation[] = [];
    const report = (invariant: string, message: string): void => {
      violations.push({ invariant, position: event.position, subject: event.subject ?? null, message });
    };
    if (event.position !== this.position + 1) {
      report('INV-21', `position ${event.position} follows ${this.position}`);
    }
    this.position = event.position;
    if (event.subject === undefined) return violations;
    const checked = this.checkedSubject(event.subject);
    if (event.seq === undefined) this.checkLooseEvent(event, checked, report);
    else this.checkHeadEvent(event, event.seq, checked, report);
    return violations;
  }

  /** Checks that a store's heads are exactly the folds of its log. */
  checkHeads(heads: Iterable<AnyHead>): InvariantViolation[] {
    const violations: InvariantViolation[] = [];
    const missingSubjects = new Set<string>();
    for (const [subject, { head }] of this.subjects) if (head !== null) missingSubjects.add(subject);
    const report = (subject: string, message: string): void => {
      violations.push({ invariant: 'INV-08', position: this.position, subject, message });
    };
    for (const head of heads) {
      missingSubjects.delete(head.subject);
      const folded = this.subjects.get(head.subject)?.head ?? null;
      if (folded === null) report(head.subject, 'a head that no event made');
      else if (!isJsonEqual(folded, head)) report(head.subject, 'the head is not the fold of its events');
    }
    for (const subject of missingSubjects)
      report(subject, 'its events made a head, and the head is not there');
    return violations;
  }

  private checkedSubject(subject: string): CheckedSubject {
    let checked = this.subjects.get(subject);
    if (checked === undefined) {
      checked = { head: null, parked: new Map() };
      this.subjects.set(subject, checked);
    }
    return checked;
  }

  private checkLooseEvent(
    event: EventEnvelope,
    checked: CheckedSubject,
    report: (invariant: string, says: string) => void,
  ): void {
    const kind = claimEventKindOf(event.event_type);
    if (kind !== undefined && !isLooseEvent(event)) {
      report('INV-09', `${event.event_type} moves a head and carries no seq`);
    }
    if (kind === 'noted') this.checkClaimEvent(event, checked, report);
    if (kind === 'result_denied') {
      const denied = event.payload as unknown as ClaimEventPayloads['result_denied'];
      if (denied.parked) {
        checked.parked.set(denied.result_id, `${denied.submitted_generation} ${denied.result_sha256}`);
      }
    }
  }

  private checkHeadEvent(
    event: EventEnvelope,
    seq: number,
    checked: CheckedSubject,
    report: (invariant: string, says: string) => void,
  ): void {
    const { head } = checked;
    const expected = (head?.seq ?? 0) + 1;
    if (seq !== expected) report('INV-09', `seq ${seq} where ${expected} was due`);
    if (head !== null && msOf(event.timestamp) < head.last_at_ms) {
      report('INV-09', `${event.timestamp} is before the event that went before it`);
    }
    if (subjectKindOf(event.subject as string) !== 'record') this.checkClaimEvent(event, checked, report);
    checked.head = { ...fold(head, event), seq };
  }

  private checkClaimEvent(
    event: EventEnvelope,
    checked: CheckedSubject,
    report: (invariant: string, says: string) => void,
  ): void {
    const subject = event.subject as string;
    const before = (checked.head as Head | null) ?? emptyHead(subject);
    const kind = claimEventKindOf(event.event_type);
    checkTransition({ kind, event, before, rules: this.rulesOf(subject) }, report);
    this.mergeChecker.checkEvent(subject, kind, report);
    if (kind !== 'adopted') return;
    const { adopted_from: from, result_sha256 } = event.payload as unknown as ClaimEventPayloads['adopted'];
    if (checked.parked.get(from?.result_id) !== `${from?.generation} ${result_sha256}`) {
      report(
        'INV-17',
        `adopted ${from?.result_id}, which was never parked under generation ${from?.generation}`,
      );
    }
  }
}
