import type { PlanResult } from '../../core/contract/plan.js';
import {
  diffPlanInSlices,
  type ParsedPlanDocument,
  type Plan,
  type PlanChange,
  type PlanFault,
  type StartedTasks,
  splitChangeInSlices,
  startedTaskFaults,
} from '../../core/plan/index.js';
import { needsApproval } from '../../core/plan/task-proposal.js';
import { runAtOnce, type SliceableWork } from '../../core/sliceable-work.js';
import { PLAN_SUBJECT } from '../../core/subject.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, NeedsFetch, Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type Problem, problem } from '../wire/problem.js';
import {
  applyPlanUpdate,
  type ComputedChange,
  invalidPlanProblem,
  type PlanUpdate,
  planVersionOf,
  startedTasksOf,
} from './apply-plan.js';
import { requestKeyOf } from './shared.js';
import { proposeTasks } from './task-proposals.js';

/** Maximum nesting of a body. No valid plan is nested so deeply. */
const NESTING_MAX = 64;

export interface PlanRequest {
  readonly verb: 'put_plan' | 'add_tasks';
  readonly update: PlanUpdate;
  /** The version the caller saw; null accepts any. */
  readonly if_match: number | null;
  readonly request_id: string | undefined;
  /** Distinguishes different requests under one id. */
  readonly body: unknown;
}

export class PlanOperation implements Operation<PlanResult | Problem> {
  readonly kind = 'plan';
  readonly requestKey;

  constructor(
    private readonly planRequest: PlanRequest,
    private readonly caller: Caller,
  ) {
    const { verb, body, request_id } = planRequest;
    // A body that is nested too deeply is always refused. It is not remembered, because its digest could exhaust the stack.
    this.requestKey = isShallow(body, NESTING_MAX)
      ? requestKeyOf(caller, verb, { body, request_id } as { request_id?: string })
      : null;
  }

  attempt(view: DecisionView): Attempt<PlanResult | Problem> | NeedsFetch {
    // Two changes of one plan never share a batch: the second is computed on the outcome of the first.
    if (view.hasPendingChange(PLAN_SUBJECT)) return { needs: () => view.settled() };
    const { plan } = view.state;
    const { verb, body, update, if_match, request_id } = this.planRequest;
    const prepare = update.preparation?.(plan) ?? null;
    if (prepare !== null) return { needs: prepare };
    const transaction = new TransactionBuilder(view, request_id).checkRecord(PLAN_SUBJECT);
    const version = planVersionOf(view);
    if (if_match !== null && if_match !== version) {
      const detail = `The plan is now at version ${version}. Read it again, then change it.`;
      return transaction.answer(this.requestKey, problem('PLAN_CHANGED', detail));
    }
    if (verb === 'add_tasks' && needsApproval(view.policy, this.caller)) {
      const computed = update.changeFor(plan, startedTasksOf(view));
      return transaction.answer(
        this.requestKey,
        computed.ok ? proposeTasks(transaction, body, this.caller) : invalidPlanProblem(computed.faults),
      );
    }
    return transaction.answer(this.requestKey, applyPlanUpdate(transaction, update, this.caller));
  }
}

function isShallow(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depthMax > 0 && Object.values(value).every((item) => isShallow(item, depthMax - 1));
}

/** Up to this many tasks in the old and the new plan together, the change is computed within the decision. */
const SMALL_CHANGE_TASKS_MAX = 1000;

interface PreparedChange {
  readonly change: PlanChange;
  readonly parts: readonly PlanChange[];
}

/** Replaces the plan by a document. For large plans the change is computed in advance. */
export class PlanReplacement implements PlanUpdate {
  private prepared: (PreparedChange & { readonly plan: Plan; readonly revision: number }) | null = null;
  private readonly taskCount: number;

  constructor(
    private readonly document: ParsedPlanDocument & { ok: true },
    private readonly environment: Pick<Environment, 'clock' | 'yieldToEventLoop'>,
  ) {
    this.taskCount = Object.values(document.input.tracks).reduce((sum, tasks) => sum + tasks.length, 0);
  }

  preparation(plan: Plan): (() => Promise<void>) | null {
    const isSmall = this.taskCount + plan.task_count <= SMALL_CHANGE_TASKS_MAX;
    return isSmall || this.preparedFor(plan) !== null ? null : () => this.prepare(plan);
  }

  private async prepare(plan: Plan): Promise<void> {
    const { revision } = plan;
    const computed = await runInSlices(this.computeChange(plan), this.environment);
    // Stored with its revision: if the plan changed meanwhile, this runs again.
    this.prepared = { ...computed, plan, revision };
  }

  changeFor(plan: Plan, startedTasks: StartedTasks): ComputedChange {
    const { change, parts } = this.preparedFor(plan) ?? runAtOnce(this.computeChange(plan));
    const faults = startedTaskFaults(plan, this.document, change, startedTasks);
    return faults.length > 0 ? { ok: false, faults } : { ok: true, change, parts };
  }

  private preparedFor(plan: Plan): PreparedChange | null {
    const isCurrent = this.prepared?.plan === plan && this.prepared.revision === plan.revision;
    return isCurrent ? this.prepared : null;
  }

  private *computeChange(plan: Plan): SliceableWork<PreparedChange> {
    const change = yield* diffPlanInSlices(plan, this.document.input);
    return { change, parts: yield* splitChangeInSlices(change) };
  }
}

/** The update for a document that is not a valid plan, whatever the current plan is. */
export const invalidPlan = (faults: readonly PlanFault[]): PlanUpdate => ({
  changeFor: () => ({ ok: false, faults }),
});
