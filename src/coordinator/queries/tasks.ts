import type { Head } from '../../core/claims/head.js';
import type { TaskFilter, TaskState } from '../../core/contract/tasks.js';
import { effectiveChecklist } from '../../core/methodology/definition/checklist.js';
import { subtaskIds } from '../../core/plan/index.js';
import type { SliceableWork } from '../../core/sliceable-work.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import {
  type FoldContext,
  type ParkedIds,
  taskState,
  taskStateIn,
  type WorkWithParked,
} from '../../core/views/index.js';
import { isKnownSubject, openDependencies, unknownSubjectProblem } from '../operations/facts.js';
import { parseSubject } from '../operations/parse-body.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Project } from '../queue/project.js';
import { isProblem, type Problem } from '../wire/problem.js';
import { limitOf } from './page.js';

/** Maximum number of subjects scanned for a page. A page of a selective filter may be short: its cursor continues. */
const SUBJECTS_SCANNED_MAX = 20_000;
const SUBJECTS_BETWEEN_PAUSES = 20;

/** A task's state, from its head and its dependencies. */
export function taskStateOf(view: DecisionView, head: Head, parkedCount: number): TaskState {
  const waiting_for = openDependencies(view, head.subject);
  return taskState(
    { ...view.key, head, waiting_for, parked: parkedCount },
    view.rulesOf(head.subject),
    view.now_ms,
  );
}

/** An edge's title and checks; empty for a task, if the project is not configured, or if it has no record of the feature. */
export function edgeDetailsOf(view: DecisionView, subject: string): Pick<TaskState, 'title' | 'checks'> {
  const { methodology } = view;
  if (methodology === null || subjectKindOf(subject) !== 'edge') return {};
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const feature = view.feature(feature_id);
  return feature === null
    ? {}
    : { title: feature.title, checks: effectiveChecklist(methodology, feature, edge) };
}

export const detailedStateOf = (view: DecisionView, subject: string, parkedCount = 0): TaskState => ({
  ...taskStateOf(view, view.head(subject), parkedCount),
  ...edgeDetailsOf(view, subject),
});

/** The problem for a subject that is neither in the plan nor in the log; null for any other. */
export const subjectProblem = (view: DecisionView, subject: string): Problem | null =>
  isKnownSubject(view, subject) || view.state.heads.has(subject)
    ? null
    : unknownSubjectProblem(view, subject);

/** The states of several tasks; for an unknown task, a problem in the same place. */
export function* statesOf(project: Project, taskIds: readonly string[], parked: ParkedIds) {
  const states: (TaskState | Problem)[] = [];
  for (const taskId of taskIds) {
    const view = project.view();
    const subject = parseSubject(taskId);
    if (isProblem(subject)) states.push(subject);
    else
      states.push(subjectProblem(view, subject) ?? detailedStateOf(view, subject, parked.get(subject)?.size));
    yield;
  }
  return states;
}

/** A project as a view reads it, now or in the past. */
export interface ViewedProject {
  readonly state: WorkWithParked;
  /** The time and rules at the moment of the call; for a view of the past, those at its position. */
  contextNow(): FoldContext;
}

/** A page of tasks by id, which orders them by track and sequence. */
export function* tasksIn(
  { state, contextNow }: ViewedProject,
  filter: Omit<TaskFilter, 'at'>,
): SliceableWork<{ tasks: TaskState[]; next: string | null }> {
  const limit = limitOf({ limit: filter.limit ?? 100 });
  const tasks: TaskState[] = [];
  let context = contextNow();
  let scannedCount = 0;
  let last = '';
  for (const subject of subjectsAfter(state, filter.after ?? '')) {
    if (tasks.length === limit || scannedCount === SUBJECTS_SCANNED_MAX) return { tasks, next: last };
    last = subject;
    scannedCount += 1;
    const task = taskStateIn(state, subject, context);
    if (matchesFilter(state, task, filter)) tasks.push(task);
    if (scannedCount % SUBJECTS_BETWEEN_PAUSES !== 0) continue;
    yield;
    context = contextNow();
  }
  return { tasks, next: null };
}

function* subjectsAfter({ plan }: WorkWithParked, after: string): Generator<string> {
  for (const track of plan.tracks()) {
    // No id of this track sorts after `<track>.`, because the hyphen that ends a track's name sorts before the dot.
    if (`${track}.` < after) continue;
    for (const task of [...plan.tasksOf(track)]) {
      if (`${task.id};` < after) continue;
      if (task.id > after) yield task.id;
      for (const id of [...subtaskIds(task)].sort()) if (id > after) yield id;
    }
  }
}

function matchesFilter(
  { plan }: WorkWithParked,
  { task_id, phase, readiness }: TaskState,
  filter: Omit<TaskFilter, 'at'>,
): boolean {
  if (filter.phase !== undefined && phase !== filter.phase) return false;
  if (filter.readiness !== undefined && readiness !== filter.readiness) return false;
  return filter.track === undefined || plan.get(task_id)?.task.track === filter.track;
}
