import {
  addItems,
  diffSteps,
  type Plan,
  type PlanChange,
  type PlanDocument,
  type PlanFault,
  type Standing,
  splitChange,
  splitSteps,
  standingFaults,
  type TaskItems,
} from '../core/plan/index.js';
import { allSteps, type Steps } from '../core/steps.js';
import type { Environment } from './environment.js';
import { inSlices } from './in-slices.js';
import type { PlanProposal, ProposedChange } from './operations/plan.js';

/** Plans with fewer tasks together are compared while the change is decided. */
const SMALL_TASKS = 1000;

interface Prepared {
  readonly change: PlanChange;
  readonly parts: readonly PlanChange[];
}

/** A document that replaces the plan. What it changes is worked out beforehand where that takes long. */
export class Replacement implements PlanProposal {
  private prepared: (Prepared & { readonly plan: Plan; readonly revision: number }) | null = null;
  private readonly task_count: number;

  constructor(
    private readonly document: PlanDocument & { ok: true },
    private readonly environment: Pick<Environment, 'clock' | 'breathe'>,
  ) {
    this.task_count = Object.values(document.input.tracks).reduce((sum, tasks) => sum + tasks.length, 0);
  }

  isPrepared(plan: Plan): boolean {
    return this.task_count + plan.task_count <= SMALL_TASKS || this.preparedFor(plan) !== null;
  }

  async prepare(plan: Plan): Promise<void> {
    const { revision } = plan;
    const worked = await inSlices(this.work(plan), this.environment);
    // A plan that changed meanwhile asks to be prepared for again.
    this.prepared = { ...worked, plan, revision };
  }

  propose(plan: Plan, standing: Standing): ProposedChange {
    const { change, parts } = this.preparedFor(plan) ?? allSteps(this.work(plan));
    const faults = standingFaults(plan, this.document, change, standing);
    return faults.length > 0 ? { ok: false, faults } : { ok: true, change, parts };
  }

  private preparedFor(plan: Plan): Prepared | null {
    const isCurrent = this.prepared?.plan === plan && this.prepared.revision === plan.revision;
    return isCurrent ? this.prepared : null;
  }

  private *work(plan: Plan): Steps<Prepared> {
    const change = yield* diffSteps(plan, this.document.input);
    return { change, parts: yield* splitSteps(change) };
  }
}

/** Tasks that join the plan. There are never more than one request brings. */
export class Additions implements PlanProposal {
  constructor(private readonly items: TaskItems) {}

  isPrepared(): boolean {
    return true;
  }

  async prepare(): Promise<void> {}

  propose(plan: Plan, standing: Standing): ProposedChange {
    const proposed = addItems(plan, this.items, standing);
    return proposed.ok ? { ...proposed, parts: splitChange(proposed.change) } : proposed;
  }
}

/** What was read is no plan, whatever plan there is. */
export class Faulty implements PlanProposal {
  constructor(private readonly faults: readonly PlanFault[]) {}

  isPrepared(): boolean {
    return true;
  }

  async prepare(): Promise<void> {}

  propose(): ProposedChange {
    return { ok: false, faults: this.faults };
  }
}
