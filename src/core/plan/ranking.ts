import { compareText } from '../compare-text.js';
import { dependenciesOf } from './dependency-graph.js';
import type { Plan } from './plan.js';
import { type Weights, weightOf } from './weights.js';

/** Dependencies that must be completed before the subject may be claimed; for a merge, its open subtasks. */
export function openDependenciesOf(
  plan: Plan,
  subject: string,
  isComplete: (id: string) => boolean,
): string[] {
  return dependenciesOf(plan, subject).filter((id) => !isComplete(id));
}

/** A subject with the values that decide its position among ready work. */
export interface RankedSubject {
  readonly id: string;
  readonly priority: number;
  readonly weight: number;
  readonly track: string;
  readonly sequence: number;
  /** 0 for a task or a merge. */
  readonly subtask_index: number;
}

export function rankedSubject(plan: Plan, weights: Weights, subject: string): RankedSubject | undefined {
  const planned = plan.get(subject);
  if (planned === undefined) return undefined;
  const { id, task, subtask_index } = planned;
  return {
    id,
    priority: task.priority,
    weight: weightOf(plan, weights, id),
    track: task.track,
    sequence: task.sequence,
    subtask_index: subtask_index ?? 0,
  };
}

/** Orders ready subjects: by priority, then by how much they unblock, then by track, sequence and subtask. */
export function compareRank(a: RankedSubject, b: RankedSubject): number {
  return (
    b.priority - a.priority ||
    b.weight - a.weight ||
    compareText(a.track, b.track) ||
    a.sequence - b.sequence ||
    a.subtask_index - b.subtask_index ||
    compareText(a.id, b.id)
  );
}
