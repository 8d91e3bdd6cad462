import { type EventEnvelope, msOf } from '../events/envelope.js';
import { asClaimEvent } from '../events/known-event.js';
import { type AnyHead, fold } from '../fold.js';
import { isJsonEqual } from '../json-equal.js';
import { subjectKindOf } from '../subject.js';
import { isImportedOrigin } from './adopted-from.js';
import { claimEventKindOf, isLooseEvent } from './claim-event-kinds.js';
import { emptyHead, type Head } from './head.js';
import { ImportedConvergences } from './invariants/imported-convergences.js';
import { MergeChecker } from './invariants/merge-checker.js';
import { checkTransition, type ReportViolation } from './invariants/transition.js';
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
  private readonly imported = new ImportedConvergences();
  private position = 0;

  /** `rulesOf`: the rules of a subject at the current event; null if they are no longer known. */
  constructor(private readonly rulesOf: (subject: string) => Rules | null) {}

  checkEvent(event: EventEnvelope): InvariantViolation[] {
    const violations: InvariantViolation[] = [];
    const report: ReportViolation = (invariant, message) => {
      violations.push({ invariant, position: event.position, subject: event.subject ?? null, message });
    };
    if (event.position !== this.position + 1) {
      report('INV-21', `position ${event.position} follows position ${this.position}`);
    }
    this.position = event.position;
    if (event.subject === undefined) {
      this.imported.add(event);
      return violations;
    }
    const checked = this.checkedSubject(event.subject);
    if (event.seq === undefined) this.checkLooseEvent(event, checked, report);
    else this.checkHeadEvent(event, event.seq, checked, report);
    return violations;
  }

  /** Checks that a store's heads are exactly the folds of its log. */
  checkHeads(heads: Iterable<AnyHead>): InvariantViolation[] {
    const violations: InvariantViolation[] = [];
    const subjectsWithHead = [...this.subjects].filter(([, { head }]) => head !== null);
    const missingSubjects = new Set(subjectsWithHead.map(([subject]) => subject));
    const report = (subject: string, message: string): void => {
      violations.push({ invariant: 'INV-08', position: this.position, subject, message });
    };
    for (const head of heads) {
      missingSubjects.delete(head.subject);
      const folded = this.subjects.get(head.subject)?.head ?? null;
      if (folded === null)
        report(head.subject, 'the store has a head, but the log has no events of this subject');
      else if (!isJsonEqual(folded, head))
        report(head.subject, 'the head in the store differs from the fold of its events');
    }
    for (const subject of missingSubjects)
      report(subject, 'the log has events that make a head, but the store has no head of this subject');
    return violations;
  }

  private checkedSubject(subject: string): CheckedSubject {
    const checked = this.subjects.get(subject) ?? { head: null, parked: new Map() };
    this.subjects.set(subject, checked);
    return checked;
  }

  private checkLooseEvent(event: EventEnvelope, checked: CheckedSubject, report: ReportViolation): void {
    if (claimEventKindOf(event.event_type) !== undefined && !isLooseEvent(event)) {
      report('INV-09', `${event.event_type} changes a head but has no seq`);
    }
    const claimEvent = asClaimEvent(event);
    if (claimEvent?.kind === 'noted') this.checkClaimEvent(event, checked, report);
    if (claimEvent?.kind !== 'result_refused') return;
    const { parked, result_id, submitted_generation, result_sha256 } = claimEvent.payload;
    if (parked) checked.parked.set(result_id, `${submitted_generation} ${result_sha256}`);
  }

  private checkHeadEvent(
    event: EventEnvelope,
    seq: number,
    checked: CheckedSubject,
    report: ReportViolation,
  ): void {
    const { head } = checked;
    const expected = (head?.seq ?? 0) + 1;
    if (seq !== expected) report('INV-09', `seq is ${seq}, expected ${expected}`);
    if (head !== null && msOf(event.timestamp) < head.last_at_ms) {
      report('INV-09', `the event at ${event.timestamp} is earlier than the event before it`);
    }
    if (subjectKindOf(event.subject as string) !== 'record') this.checkClaimEvent(event, checked, report);
    checked.head = { ...fold(head, event), seq };
  }

  private checkClaimEvent(event: EventEnvelope, checked: CheckedSubject, report: ReportViolation): void {
    const subject = event.subject as string;
    const before = (checked.head as Head | null) ?? emptyHead(subject);
    checkTransition({ event, before, rules: this.rulesOf(subject) }, report);
    this.mergeChecker.checkEvent(subject, claimEventKindOf(event.event_type), report);
    const claimEvent = asClaimEvent(event);
    if (claimEvent?.kind !== 'adopted') return;
    const { adopted_from: from, result_sha256 } = claimEvent.payload;
    if (isImportedOrigin(from)) this.imported.checkAdoption(subject, from, report);
    else if (checked.parked.get(from?.result_id) !== `${from?.generation} ${result_sha256}`) {
      report(
        'INV-17',
        `adopted ${from?.result_id}, which was never parked under generation ${from?.generation}`,
      );
    }
  }
}
