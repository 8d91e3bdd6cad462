import { LogChecker } from '../../core/claims/invariants.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Policy, rulesFor } from '../../core/claims/policy.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { kindOf, POLICY_SUBJECT } from '../../core/subject.js';
import type { LogPlace } from './find-logs.js';
import { type PlacedEvent, readLog } from './read-log.js';

export interface Break {
  readonly file: string;
  readonly line: number;
  /** `CHAIN` where the log itself is damaged, `INV-nn` where what it says breaks an invariant. */
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
  readonly breaks: readonly Break[];
}

/** One fault may have a thousand consequences; the first of them tell enough. */
const BREAKS_MAX = 100;

/** Replays one log from its first line and judges all it says. */
export async function verifyLog(place: LogPlace, onEvent: (events: number) => void): Promise<LogReport> {
  const judge = new Judge(onEvent);
  const read = await readLog(place, (placed) => judge.see(placed));
  const { damage, files, lines, unfinished_bytes } = read;
  if (damage !== null) judge.add({ ...damage, rule: 'CHAIN', subject: null, says: damage.why });
  const path = 'file' in place ? place.file : place.folder;
  return { ...judge.scope, path, files, lines, ...judge.counts, unfinished_bytes, breaks: judge.breaks };
}

class Judge {
  readonly breaks: Break[] = [];
  private readonly subjects = new Set<string>();
  private readonly checker = new LogChecker((subject) =>
    // What the limits were when a lease was granted is in the grant; of the rules, only the policy is asked here.
    rulesFor(kindOf(subject), this.policy, DEFAULT_LIMITS, 0),
  );
  private policy: Policy = DEFAULT_POLICY;
  private events = 0;
  private last: PlacedEvent | null = null;

  constructor(private readonly onEvent: (events: number) => void) {}

  get scope(): Pick<LogReport, 'tenant_id' | 'project_id'> {
    const { tenant_id = null, project_id = null } = this.last?.event ?? {};
    return { tenant_id, project_id };
  }

  get counts(): Pick<LogReport, 'events' | 'subjects'> {
    return { events: this.events, subjects: this.subjects.size };
  }

  see(placed: PlacedEvent): void {
    const { event, file, line } = placed;
    this.events += 1;
    this.onEvent(this.events);
    this.last = placed;
    if (event.subject !== undefined) this.subjects.add(event.subject);
    for (const { invariant, subject, says } of this.checker.see(event)) {
      this.add({ file, line, rule: invariant, subject, says });
    }
    if (event.subject === POLICY_SUBJECT) this.policy = policyIn(event);
  }

  add({ file, line, rule, subject, says }: Break): void {
    if (this.breaks.length < BREAKS_MAX) this.breaks.push({ file, line, rule, subject, says });
  }
}

const policyIn = ({ payload }: EventEnvelope): Policy => ({
  ...DEFAULT_POLICY,
  ...(payload.record as Partial<Policy>),
});
