import type { Fact } from '../facts.js';
import type { Head } from '../head.js';
import type { Say } from './step.js';

/**
 * A task with subtasks is their merge. It is granted when all of them are complete, and its result counts only if
 * they are then still what they were. Only subtasks that ever did something are known here; the plan is not.
 */
export class MergeWatch {
  private readonly children = new Map<string, string[]>();
  private readonly granted = new Map<string, string | null>();
  private readonly met = new Set<string>();

  constructor(private readonly headOf: (subject: string) => Head | null | undefined) {}

  see(subject: string, fact: Fact | undefined, say: Say): void {
    this.meet(subject);
    if (!this.children.has(subject)) return;
    if (fact === 'granted') this.granted.set(subject, this.vectorOf(subject));
    if (fact !== 'accepted') return;
    const vector = this.vectorOf(subject);
    if (vector === null) say('INV-19', 'merged while a subtask was open');
    else if (vector !== this.granted.get(subject))
      say('INV-19', 'merged other results than it was granted for');
  }

  private meet(subject: string): void {
    if (this.met.has(subject)) return;
    this.met.add(subject);
    const cut = subject.indexOf('::');
    if (cut < 0) return;
    const parent = subject.slice(0, cut);
    const siblings = this.children.get(parent);
    if (siblings === undefined) this.children.set(parent, [subject]);
    else siblings.push(subject);
  }

  /** Which result of each subtask; null while one of them has none. */
  private vectorOf(parent: string): string | null {
    const parts: string[] = [];
    for (const child of this.children.get(parent) ?? []) {
      const result = this.headOf(child)?.result ?? null;
      if (result === null) return null;
      parts.push(`${child} ${result.generation} ${result.sha256}`);
    }
    return parts.sort().join('\n');
  }
}
