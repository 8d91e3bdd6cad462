import type { PlanResult } from '../../core/contract/plan.js';
import {
  isNoChange,
  type Plan,
  type PlanChange,
  type PlanFault,
  type StartedTasks,
  subtaskCount,
  subtaskId,
} from '../../core/plan/index.js';
import { PLAN_SUBJECT } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, NeedsFetch, Operation } from '../queue/operation.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import { type Problem, problem } from '../wire/problem.js';
import { requestKeyOf } from './shared.js';

/** Deeper than any valid plan. */
const NESTING_MAX = 64;

/** The proposed plan change, or why it is invalid. `parts`: the change, split to fit one event each. */
export type ProposedChange =
  | { readonly ok: true; readonly change: PlanChange; readonly parts: readonly PlanChange[] }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

/** A requested plan change, computed against the current plan. */
export interface PlanProposal {
  /** Precomputes the slow part, yielding to other work. Null if `propose` can run within a decision. */
  preparation?(plan: Plan): (() => Promise<void>) | null;
  propose(plan: Plan, startedTasks: StartedTasks): ProposedChange;
}

export interface PlanRequest {
  readonly verb: 'put_plan' | 'add_tasks';
  readonly proposal: PlanProposal;
  /** The version the caller saw; null accepts any. */
  readonly if_match: number | null;
  readonly request_id: string | undefined;
  /** Distinguishes different requests under one id. */
  readonly body: unknown;
}

export class PlanOperation implements Operation<PlanResult | Problem> {
  readonly kind = 'plan';
  readonly request;

  constructor(
    private readonly planRequest: PlanRequest,
    private readonly caller: Caller,
  ) {
    const { verb, body, request_id } = planRequest;
    // A body nested too deep is always refused, so it is not remembered: digesting it could exhaust the stack.
    this.request = isShallow(body, NESTING_MAX)
      ? requestKeyOf(caller, verb, { body, request_id } as { request_id?: string })
      : null;
  }

  attempt(view: DecisionView): Attempt<PlanResult | Problem> | NeedsFetch {
    // Two changes of one plan never share a batch: the second is computed on the outcome of the first.
    if (view.hasPendingChange(PLAN_SUBJECT)) return { needs: () => view.settled() };
    const { plan } = view.state;
    const { proposal, if_match, request_id } = this.planRequest;
    const prepare = proposal.preparation?.(plan) ?? null;
    if (prepare !== null) return { needs: prepare };
    const transaction = new TransactionBuilder(view, request_id).checkRecord(PLAN_SUBJECT);
    const version = planVersionOf(view);
    if (if_match !== null && if_match !== version) {
      const detail = `The plan is now at version ${version}. Read it again, then change it.`;
      return transaction.answer(this.request, problem('PLAN_CHANGED', detail));
    }
    const proposed = proposal.propose(plan, {
      isStarted: (id) => view.hasHead(id) && view.head(id).generation > 0,
      isCompleted: (id) => view.head(id).phase === 'COMPLETED',
    });
    if (!proposed.ok) return transaction.answer(this.request, invalidPlanProblem(proposed.faults));
    const { change, parts } = proposed;
    const result = planResult(plan, change, isNoChange(change) ? version : version + 1);
    if (isNoChange(change)) return transaction.answer(this.request, result);
    // A task claimed at this moment must not be removed or changed.
    for (const id of affectedSubjects(plan, change)) {
      if (view.hasHead(id)) transaction.checkHead(id);
      else if (view.hasOtherWriters) transaction.check(id, 0);
    }
    const record = { version: result.version, task_count: result.task_count };
    const drafts = parts.map((part) =>
      draftEvent(view, 'PLAN_CHANGED', actorOf(this.caller), { version: record.version, ...part, record }),
    );
    return transaction.putRecord(PLAN_SUBJECT, drafts).markRulesChanged().answer(this.request, result);
  }
}

export const planVersionOf = (view: DecisionView): number =>
  (view.record(PLAN_SUBJECT)?.value.version as number) ?? 0;

function isShallow(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depthMax > 0 && Object.values(value).every((item) => isShallow(item, depthMax - 1));
}

function planResult(plan: Plan, change: PlanChange, version: number): PlanResult {
  const [added, changed, removed] = [change.added.length, change.changed.length, change.removed.length];
  return { version, added, changed, removed, task_count: plan.task_count + added - removed };
}

function invalidPlanProblem(faults: readonly PlanFault[]): Problem {
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
