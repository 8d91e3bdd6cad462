import type { PlanResult } from '../../core/contract/plan.js';
import {
  addTaskItems,
  diffPlanSteps,
  isNoChange,
  type ParsedPlanDocument,
  type ParsedTaskItems,
  type Plan,
  type PlanChange,
  type PlanFault,
  type StartedTasks,
  splitChange,
  splitChangeSteps,
  startedTaskFaults,
  subtaskCount,
  subtaskId,
} from '../../core/plan/index.js';
import { runAllSteps, type StepGenerator } from '../../core/steps.js';
import { PLAN_SUBJECT } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, NeedsFetch, Operation } from '../queue/operation.js';
import { draftEvent, TransactionBuilder } from '../queue/transaction-builder.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type Problem, problem } from '../wire/problem.js';
import { requestKeyOf } from './shared.js';

/** Deeper than any valid plan. */
const NESTING_MAX = 64;

/** The proposed plan change, or why it is invalid. `parts`: the change, split to fit one event each. */
type ProposedChange =
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
    return transaction
      .putRecord(PLAN_SUBJECT, drafts)
      .invalidateConcurrentDecisions()
      .answer(this.request, result);
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

/** Up to this many tasks in both plans together, the change is computed within the decision. */
const INLINE_TASKS_MAX = 1000;

interface PreparedChange {
  readonly change: PlanChange;
  readonly parts: readonly PlanChange[];
}

/** Replaces the plan by a document. For large plans the change is computed in advance. */
export class PlanReplacement implements PlanProposal {
  private prepared: (PreparedChange & { readonly plan: Plan; readonly revision: number }) | null = null;
  private readonly taskCount: number;

  constructor(
    private readonly document: ParsedPlanDocument & { ok: true },
    private readonly environment: Pick<Environment, 'clock' | 'yieldToEventLoop'>,
  ) {
    this.taskCount = Object.values(document.input.tracks).reduce((sum, tasks) => sum + tasks.length, 0);
  }

  preparation(plan: Plan): (() => Promise<void>) | null {
    const isSmall = this.taskCount + plan.task_count <= INLINE_TASKS_MAX;
    return isSmall || this.preparedFor(plan) !== null ? null : () => this.prepare(plan);
  }

  private async prepare(plan: Plan): Promise<void> {
    const { revision } = plan;
    const computed = await runInSlices(this.computeChange(plan), this.environment);
    // Stored with its revision: if the plan changed meanwhile, this runs again.
    this.prepared = { ...computed, plan, revision };
  }

  propose(plan: Plan, startedTasks: StartedTasks): ProposedChange {
    const { change, parts } = this.preparedFor(plan) ?? runAllSteps(this.computeChange(plan));
    const faults = startedTaskFaults(plan, this.document, change, startedTasks);
    return faults.length > 0 ? { ok: false, faults } : { ok: true, change, parts };
  }

  private preparedFor(plan: Plan): PreparedChange | null {
    const isCurrent = this.prepared?.plan === plan && this.prepared.revision === plan.revision;
    return isCurrent ? this.prepared : null;
  }

  private *computeChange(plan: Plan): StepGenerator<PreparedChange> {
    const change = yield* diffPlanSteps(plan, this.document.input);
    return { change, parts: yield* splitChangeSteps(change) };
  }
}

/** Adds tasks to the plan. Their number is bounded by the request, so nothing needs preparing. */
export const planAdditions = (items: ParsedTaskItems): PlanProposal => ({
  propose(plan, startedTasks) {
    const proposed = addTaskItems(plan, items, startedTasks);
    return proposed.ok ? { ...proposed, parts: splitChange(proposed.change) } : proposed;
  },
});

/** A document that is not a valid plan, whatever the current plan. */
export const invalidPlan = (faults: readonly PlanFault[]): PlanProposal => ({
  propose: () => ({ ok: false, faults }),
});
