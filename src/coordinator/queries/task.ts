import type { Head } from '../../core/claims/head.js';
import type { TaskState } from '../../core/contract/tasks.js';
import { effectiveChecklist } from '../../core/methodology/definition/checklist.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import { taskState } from '../../core/views/index.js';
import { openDependencies } from '../operations/facts.js';
import type { DecisionView } from '../queue/decision-view.js';

/** A task's state, from its head and its dependencies. */
export function taskStateOf(view: DecisionView, head: Head, parked: number): TaskState {
  const waiting_for = openDependencies(view, head.subject);
  return taskState({ ...view.key, head, waiting_for, parked }, view.rulesOf(head.subject), view.now_ms);
}

/** An edge's title and the checks its result must pass; empty if the project is not configured. */
export function edgeDetailsOf(view: DecisionView, subject: string): Pick<TaskState, 'title' | 'checks'> {
  const { methodology } = view;
  if (methodology === null || subjectKindOf(subject) !== 'edge') return {};
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const vector = view.feature(feature_id);
  return vector === null
    ? {}
    : { title: vector.title, checks: effectiveChecklist(methodology, vector, edge) };
}
