import type { RecordedLoss } from '../../core/audit/history-lost.js';
import type { LogAuditReport } from '../../core/audit/log-audit.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import { UNRECORDED_REDACTION } from '../../stores/file/redacted-lines.js';
import { type AnchorOptions, auditViolations, CheckpointAudit } from './checkpoint-audit.js';
import type { LogLocation } from './find-logs.js';
import type { LogViolation } from './log-violation.js';
import { type LocatedEvent, readLog } from './read-log.js';

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
  /** Losses of history that an operator accepted. */
  readonly losses: readonly RecordedLoss[];
  readonly breaks: readonly LogViolation[];
}

/** One fault can cause thousands of violations; the first ones suffice. */
const VIOLATIONS_MAX = 100;

/** Replays one log from its first line and checks every invariant. */
export async function verifyLog(
  location: LogLocation,
  onEvent: (events: number) => void,
  anchorOptions: AnchorOptions = {},
): Promise<LogReport> {
  const verifier = new LogVerifier(onEvent);
  const checkpoints = new CheckpointAudit(anchorOptions);
  const { damage, unrecordedRedactions, ...read } = await readLog(location, (located) => {
    verifier.visit(located);
    checkpoints.visit(located);
  });
  const audited = await auditAgain(location, checkpoints, anchorOptions);
  for (const location of unrecordedRedactions)
    verifier.add({ ...location, rule: 'CHAIN', subject: null, says: UNRECORDED_REDACTION });
  if (damage !== null) verifier.add({ ...damage, rule: 'CHAIN', subject: null, says: damage.why });
  const path = 'file' in location ? location.file : location.folder;
  if (audited !== null) for (const found of auditViolations(audited, path)) verifier.add(found);
  return { ...verifier.report(path, audited), ...read };
}

/** Reads the log a second time if some redactions predate checkpoints: the first pass finds out which. */
async function auditAgain(
  location: LogLocation,
  checkpoints: CheckpointAudit,
  anchorOptions: AnchorOptions,
): Promise<LogAuditReport | null> {
  const result = checkpoints.result();
  const unrecorded = checkpoints.unrecordedRedactions();
  if (result === null || unrecorded.size === 0 || auditViolations(result, '').length === 0) return result;
  const second = new CheckpointAudit(anchorOptions, unrecorded);
  await readLog(location, (located) => second.visit(located));
  return second.result();
}

const NO_FILE_COUNTS = { files: 0, lines: 0, foreign_lines: 0, foreign_unsealed: 0, unfinished_bytes: 0 };

type VisitedEvent = Pick<LocatedEvent, 'event' | 'file' | 'line'>;

/** Checks events in order, and collects what breaks a rule. */
export class LogVerifier {
  readonly breaks: LogViolation[] = [];
  private readonly subjects = new Set<string>();
  readonly checker = new PolicyAwareLogChecker();
  private events = 0;
  private last: VisitedEvent | null = null;

  constructor(private readonly onEvent: (events: number) => void) {}

  /** The report on a log that is not read from files. */
  report(path: string, audited: LogAuditReport | null): LogReport {
    const { tenant_id = null, project_id = null } = this.last?.event ?? {};
    const { events, breaks } = this;
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
      losses,
      breaks,
    };
  }

  visit(located: VisitedEvent): void {
    const { event, file, line } = located;
    this.events += 1;
    this.onEvent(this.events);
    this.last = located;
    if (event.subject !== undefined) this.subjects.add(event.subject);
    for (const { invariant, subject, message: says } of this.checker.checkEvent(event)) {
      this.add({ file, line, rule: invariant, subject, says });
    }
  }

  add({ file, line, last_line = line, rule, subject, says }: LogViolation): void {
    if (this.breaks.length >= VIOLATIONS_MAX) return;
    const lines = last_line === line ? { line } : { line, last_line };
    this.breaks.push({ file, ...lines, rule, subject, says });
  }
}
