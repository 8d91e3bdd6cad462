import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import { UNEXPLAINED } from '../../stores/file/redacted-lines.js';
import type { LogLocation } from './find-logs.js';
import { type LocatedEvent, readLog } from './read-log.js';

export interface LogBreak {
  readonly file: string;
  readonly line: number;
  /** `CHAIN` if the log itself is damaged, `INV-nn` if its events violate an invariant. */
  readonly rule: string;
  readonly subject: string | null;
  readonly says: string;
}

export interface LogReport {
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly path: string;
  readonly files: number;
  readonly lines: number;
  readonly events: number;
  readonly subjects: number;
  readonly unfinished_bytes: number;
  readonly breaks: readonly LogBreak[];
}

/** One fault can cause thousands of violations; the first ones suffice. */
const BREAKS_MAX = 100;

/** Replays one log from its first line and checks every invariant. */
export async function verifyLog(
  location: LogLocation,
  onEvent: (events: number) => void,
): Promise<LogReport> {
  const verifier = new LogVerifier(onEvent);
  const { damage, files, lines, unfinished_bytes, unexplained } = await readLog(location, (located) =>
    verifier.visit(located),
  );
  for (const location of unexplained)
    verifier.add({ ...location, rule: 'CHAIN', subject: null, says: UNEXPLAINED });
  if (damage !== null) verifier.add({ ...damage, rule: 'CHAIN', subject: null, says: damage.why });
  const path = 'file' in location ? location.file : location.folder;
  return { ...verifier.report(path), files, lines, unfinished_bytes };
}

/** Checks events in order, and collects what breaks a rule. */
export class LogVerifier {
  readonly breaks: LogBreak[] = [];
  private readonly subjects = new Set<string>();
  readonly judge = new PolicyAwareLogChecker();
  private events = 0;
  private last: LocatedEvent | null = null;

  constructor(private readonly onEvent: (events: number) => void) {}

  /** The report on a log that is not read from files. */
  report(path: string): LogReport {
    const { tenant_id = null, project_id = null } = this.last?.event ?? {};
    const { events, breaks } = this;
    const subjects = this.subjects.size;
    return { tenant_id, project_id, path, files: 0, lines: 0, events, subjects, unfinished_bytes: 0, breaks };
  }

  visit(located: LocatedEvent): void {
    const { event, file, line } = located;
    this.events += 1;
    this.onEvent(this.events);
    this.last = located;
    if (event.subject !== undefined) this.subjects.add(event.subject);
    for (const { invariant, subject, message: says } of this.judge.checkEvent(event)) {
      this.add({ file, line, rule: invariant, subject, says });
    }
  }

  add({ file, line, rule, subject, says }: LogBreak): void {
    if (this.breaks.length < BREAKS_MAX) this.breaks.push({ file, line, rule, subject, says });
  }
}
