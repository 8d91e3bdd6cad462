import { LogJudge } from '../../core/claims/log-judge.js';
import { UNEXPLAINED } from '../../stores/file/redacted-lines.js';
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
  const tally = new Tally(onEvent);
  const read = await readLog(place, (placed) => tally.see(placed));
  const { damage, files, lines, unfinished_bytes, unexplained } = read;
  for (const place of unexplained) tally.add({ ...place, rule: 'CHAIN', subject: null, says: UNEXPLAINED });
  if (damage !== null) tally.add({ ...damage, rule: 'CHAIN', subject: null, says: damage.why });
  const path = 'file' in place ? place.file : place.folder;
  return { ...tally.scope, path, files, lines, ...tally.counts, unfinished_bytes, breaks: tally.breaks };
}

/** What was read so far, and what was wrong with it. */
export class Tally {
  readonly breaks: Break[] = [];
  private readonly subjects = new Set<string>();
  readonly judge = new LogJudge();
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
    for (const { invariant, subject, says } of this.judge.see(event)) {
      this.add({ file, line, rule: invariant, subject, says });
    }
  }

  add({ file, line, rule, subject, says }: Break): void {
    if (this.breaks.length < BREAKS_MAX) this.breaks.push({ file, line, rule, subject, says });
  }
}
