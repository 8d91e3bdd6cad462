import type { RecordedLoss } from '../../../core/audit/history-lost.js';
import type { LogAuditReport } from '../../../core/audit/log-audit.js';
import { SessionSignatureChecker } from '../../../core/audit/session-signature-checker.js';
import { SignatureRequirements, UnsignedCommands } from '../../../core/audit/unsigned-commands.js';
import { PolicyAwareLogChecker } from '../../../core/claims/policy-aware-log-checker.js';
import { isEnforcedRule, RunLogChecker } from '../../../core/engine/run-log-checker.js';
import type { EventEnvelope } from '../../../core/events/envelope.js';
import { verifySignatureSync } from '../verify-signature.js';
import type { LogRemark } from './log-remark.js';

export interface LogReport {
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly path: string;
  readonly files: number;
  readonly lines: number;
  /** Lines of other programs, and how many of them no seal covers yet. */
  readonly foreign_lines: number;
  readonly foreign_unsealed: number;
  readonly events: number;
  readonly subjects: number;
  readonly unfinished_bytes: number;
  /** Signed checkpoints without a fault, and the last position that one covers. */
  readonly checkpoints: number;
  readonly covered_position: number;
  /** Anchors that the log agrees with, and the last position that one covers. */
  readonly anchors: number;
  readonly anchored_position: number;
  /** Session signatures that were checked, and those that could not be: the signed text or the key is missing. */
  readonly signatures: number;
  readonly signatures_unchecked: number;
  /** Losses of history that an operator accepted. */
  readonly losses: readonly RecordedLoss[];
  readonly breaks: readonly LogRemark[];
  /**
   * Notes, which are not violations. `UNSIGNED`: a command has no signature although the tenant required one.
   * `RUN-nn`: an executor has reported a run that contradicts itself.
   */
  readonly notes: readonly LogRemark[];
}

/** Maximum number of violations, and of notes. One fault can cause thousands, and the first ones suffice. */
const REMARKS_MAX = 100;

const UNSIGNED_TEXT =
  'a command of a session has no signature, although the tenant’s limits required one at that time. Imported events never have one';

const NO_FILE_COUNTS = { files: 0, lines: 0, foreign_lines: 0, foreign_unsealed: 0, unfinished_bytes: 0 };

interface VisitedEvent {
  readonly event: EventEnvelope;
  readonly file: string;
  readonly line: number;
}

/** Checks events in order, and collects what breaks a rule. */
export class LogVerifier {
  private readonly violations: LogRemark[] = [];
  private readonly notes: LogRemark[] = [];
  private readonly subjects = new Set<string>();
  readonly checker = new PolicyAwareLogChecker();
  private readonly runs = new RunLogChecker();
  private readonly signatures = new SessionSignatureChecker(verifySignatureSync);
  private readonly unsigned: UnsignedCommands;
  private events = 0;
  private last: VisitedEvent | null = null;

  constructor(
    private readonly onEvent: (events: number) => void,
    private readonly requirements = new SignatureRequirements(),
  ) {
    this.unsigned = new UnsignedCommands(requirements);
  }

  /** The report on a log that is not read from files. */
  report(path: string, audited: LogAuditReport | null): LogReport {
    const { tenant_id = null, project_id = null } = this.last?.event ?? {};
    const { events, violations, notes } = this;
    const subjects = this.subjects.size;
    const { checkpoints = 0, covered_position = 0, losses = [] } = audited ?? {};
    const agreeing = (audited?.anchors ?? []).filter(({ code }) => code === 'AGREES');
    return {
      tenant_id,
      project_id,
      path,
      ...NO_FILE_COUNTS,
      events,
      subjects,
      checkpoints,
      covered_position,
      anchors: agreeing.length,
      anchored_position: Math.max(0, ...agreeing.map(({ position }) => position)),
      signatures: this.signatures.checkedCount,
      signatures_unchecked: this.signatures.uncheckedCount,
      losses,
      breaks: violations,
      notes,
    };
  }

  verifyEvent(located: VisitedEvent): void {
    const { event, file, line } = located;
    this.events += 1;
    this.onEvent(this.events);
    this.last = located;
    if (event.subject !== undefined) this.subjects.add(event.subject);
    for (const { invariant, subject, message: says } of this.checker.checkEvent(event)) {
      this.addViolation({ file, line, rule: invariant, subject, says });
    }
    this.checkRuns(located);
    this.checkSignature(located);
  }

  /** In an intact log, an executor may have reported a run that contradicts itself. Such a violation is only a note. */
  private checkRuns({ event, file, line }: VisitedEvent): void {
    for (const { rule, subject, says } of this.runs.checkEvent(event)) {
      const remark = { file, line, rule, subject, says };
      if (isEnforcedRule(rule)) this.addViolation(remark);
      else this.addNote(remark);
    }
  }

  private checkSignature({ event, file, line }: VisitedEvent): void {
    this.requirements.visit(event);
    const location = { file, line, subject: event.subject ?? null };
    const positionText = `position ${event.position}`;
    const fault = this.signatures.visit(event);
    if (fault !== null)
      this.addViolation({ ...location, rule: 'SIGNATURE', says: `${positionText}: ${fault}` });
    if (this.unsigned.isUnsigned(event))
      this.addNote({ ...location, rule: 'UNSIGNED', says: `${positionText}: ${UNSIGNED_TEXT}` });
  }

  private addNote(note: LogRemark): void {
    if (this.notes.length < REMARKS_MAX) this.notes.push(note);
  }

  addViolation({ file, line, last_line = line, rule, subject, says }: LogRemark): void {
    if (this.violations.length >= REMARKS_MAX) return;
    const lines = last_line === line ? { line } : { line, last_line };
    this.violations.push({ file, ...lines, rule, subject, says });
  }
}
