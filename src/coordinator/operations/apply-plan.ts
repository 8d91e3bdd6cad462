import type { PlanResult } from '../../core/contract/plan.js';
import {
  addTaskItems,
  isNoChange,
  type ParsedTaskItems,
  type Plan,
  type PlanChange,
  type PlanFault,
  type StartedTasks,
  splitChange,
  subtaskCount,
  subtaskId,
} from '../../core/plan/index.js';
import type { RecordHead } from '../../core/record.js';
import { PLAN_SUBJECT } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import { draftEvent, type TransactionBuilder } from '../queue/transaction-builder.js';
import { type Problem, problem } from '../wire/problem.js';

/** The change of the plan, or why it is invalid. `parts`: the change, split so that each part fits into one event. */
export type ComputedChange =
  | { readonly ok: true; readonly change: PlanChange; readonly parts: readonly PlanChange[] }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

/** A requested plan change, computed against the current plan. */
export interface PlanUpdate {
  /** Returns a function that computes the slow part in advance, yielding to other work; null if no part is slow. */
  preparation?(plan: Plan): (() => Promise<void>) | null;
  changeFor(plan: Plan, startedTasks: StartedTasks): ComputedChange;
}

export const startedTasksOf = (view: DecisionView): StartedTasks => ({
  isStarted: (id) => view.hasHead(id) && view.head(id).generation > 0,
  isCompleted: (id) => view.head(id).phase === 'COMPLETED',
});

/** Changes the plan as requested, or returns what is wrong with the request. */
export function applyPlanUpdate(
  transaction: TransactionBuilder,
  update: PlanUpdate,
  caller: Caller,
): PlanResult | Problem {
  const { view } = transaction;
  const { plan } = view.state;
  const version = planVersionOf(view);
  const computed = update.changeFor(plan, startedTasksOf(view));
  if (!computed.ok) return invalidPlanProblem(computed.faults);
  const { change, parts } = computed;
  // The first plan creates the project, even if it has no tasks.
  const isUnchanged = isNoChange(change) && version > 0;
  const result = planResult(plan, change, isUnchanged ? version : version + 1);
  if (isUnchanged) return result;
  // If a claim of an affected task commits at the same time, this change must conflict with it, not remove or change the
  // task.
  for (const id of affectedSubjects(plan, change)) {
    if (view.hasHead(id)) transaction.checkHead(id);
    else if (view.hasOtherWriters) transaction.addCheck(id, 0);
  }
  const record = { version: result.version, task_count: result.task_count };
  const drafts = (parts.length === 0 ? [change] : parts).map((part) =>
    draftEvent(view, 'PLAN_CHANGED', actorOf(caller), { version: record.version, ...part, record }),
  );
  transaction.putRecord(PLAN_SUBJECT, drafts).invalidateConcurrentDecisions();
  return result;
}

/** The result for a plan that does not change. */
export const unchangedPlan = (view: DecisionView): PlanResult =>
  planResult(view.state.plan, { added: [], changed: [], removed: [] }, planVersionOf(view));

export const planVersionOf = (view: DecisionView): number => planVersionIn(view.record(PLAN_SUBJECT));

/** The version in the record of a plan; 0 if there is none yet. */
export const planVersionIn = (record: RecordHead | null | undefined): number =>
  (record?.value.version as number | undefined) ?? 0;

function planResult(plan: Plan, change: PlanChange, version: number): PlanResult {
  const [added, changed, removed] = [change.added.length, change.changed.length, change.removed.length];
  return { version, added, changed, removed, task_count: plan.task_count + added - removed };
}

export function invalidPlanProblem(faults: readonly PlanFault[]): Problem {
  const first = faults[0];
  const location = first?.line === undefined ? (first?.path ?? '') : `line ${first.line}`;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const summary = (first?.message ?? 'not a valid plan').replace(/\.$/, '');
  return problem(
    'INVALID_PLAN',
    `${location}: ${summary}${more}. Nothing was changed.`,
    faults.map(({ code, path, message, line, column }) => ({
      code,
      path,
      message,
      ...withoutUndefined({ line, column }),
    })),
  );
}

function* affectedSubjects(plan: Plan, { removed, changed }: PlanChange): Generator<string> {
  for (const task of [...removed, ...changed.map(({ id }) => id)]) {
    const planned = plan.task(task);
    if (planned === undefined) continue;
    yield planned.id;
    for (let index = 1; index <= subtaskCount(planned); index += 1) yield subtaskId(planned.id, index);
  }
}

/** Adds tasks to the plan. Their number is bounded by the request, so nothing needs preparing. */
export const planAdditions = (items: ParsedTaskItems): PlanUpdate => ({
  changeFor(plan, startedTasks) {
    const computed = addTaskItems(plan, items, startedTasks);
    return computed.ok ? { ...computed, parts: splitChange(computed.change) } : computed;
  },
});
