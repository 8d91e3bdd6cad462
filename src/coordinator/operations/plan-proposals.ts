import {
  addTaskItems,
  diffPlanSteps,
  type ParsedPlanDocument,
  type ParsedTaskItems,
  type Plan,
  type PlanChange,
  type PlanFault,
  type StartedTasks,
  splitChange,
  splitChangeSteps,
  startedTaskFaults,
} from '../../core/plan/index.js';
import { runAllSteps, type StepGenerator } from '../../core/steps.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import type { PlanProposal, ProposedChange } from './plan.js';

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
