import type { ClaimEventKind } from '../claim-event-kinds.js';
import type { Head } from '../head.js';
import type { ReportViolation } from './transition.js';

/**
 * Checks merges: when the result of a merge is accepted, all its subtasks must be complete, with the same results as when the
 * merge was granted. The checker knows only subtasks with events, because it does not see the plan.
 */
export class MergeChecker {
  private readonly children = new Map<string, Set<string>>();
  private readonly resultsAtGrant = new Map<string, string | null>();

  constructor(private readonly headOf: (subject: string) => Head | null | undefined) {}

  checkEvent(subject: string, kind: ClaimEventKind | undefined, report: ReportViolation): void {
    this.registerSubtask(subject);
    if (!this.children.has(subject)) return;
    if (kind === 'granted') this.resultsAtGrant.set(subject, this.subtaskResultsOf(subject));
    if (kind !== 'accepted') return;
    const results = this.subtaskResultsOf(subject);
    if (results === null) report('INV-19', 'merged while a subtask was open');
    else if (results !== this.resultsAtGrant.get(subject))
      report('INV-19', 'the merged results are not the ones for which the merge was granted');
  }

  private registerSubtask(subject: string): void {
    const separatorIndex = subject.indexOf('::');
    if (separatorIndex < 0) return;
    const parent = subject.slice(0, separatorIndex);
    this.children.set(parent, (this.children.get(parent) ?? new Set<string>()).add(subject));
  }

  /** Identifies the current result of every subtask; null while a subtask has no result. */
  private subtaskResultsOf(parent: string): string | null {
    const parts: string[] = [];
    for (const child of this.children.get(parent) ?? []) {
      const result = this.headOf(child)?.result ?? null;
      if (result === null) return null;
      parts.push(`${child} ${result.generation} ${result.sha256}`);
    }
    return parts.sort().join('\n');
  }
}
