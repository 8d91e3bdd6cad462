import type { ClaimEventKind } from '../claim-event-kinds.js';
import type { Head } from '../head.js';
import type { ReportViolation } from './transition.js';

/**
 * A task with subtasks is their merge. It is granted when all of them are complete, and its result counts only if
 * they are then still what they were. Only subtasks that ever did something are known here; the plan is not.
 */
export class MergeChecker {
  private readonly children = new Map<string, string[]>();
  private readonly vectorAtGrant = new Map<string, string | null>();
  private readonly registeredSubjects = new Set<string>();

  constructor(private readonly headOf: (subject: string) => Head | null | undefined) {}

  checkEvent(subject: string, kind: ClaimEventKind | undefined, report: ReportViolation): void {
    this.registerSubtask(subject);
    if (!this.children.has(subject)) return;
    if (kind === 'granted') this.vectorAtGrant.set(subject, this.resultVectorOf(subject));
    if (kind !== 'accepted') return;
    const vector = this.resultVectorOf(subject);
    if (vector === null) report('INV-19', 'merged while a subtask was open');
    else if (vector !== this.vectorAtGrant.get(subject))
      report('INV-19', 'merged other results than it was granted for');
  }

  private registerSubtask(subject: string): void {
    if (this.registeredSubjects.has(subject)) return;
    this.registeredSubjects.add(subject);
    const cut = subject.indexOf('::');
    if (cut < 0) return;
    const parent = subject.slice(0, cut);
    const siblings = this.children.get(parent);
    if (siblings === undefined) this.children.set(parent, [subject]);
    else siblings.push(subject);
  }

  /** Which result of each subtask; null while one of them has none. */
  private resultVectorOf(parent: string): string | null {
    const parts: string[] = [];
    for (const child of this.children.get(parent) ?? []) {
      const result = this.headOf(child)?.result ?? null;
      if (result === null) return null;
      parts.push(`${child} ${result.generation} ${result.sha256}`);
    }
    return parts.sort().join('\n');
  }
}
