import { isoTime } from '../../core/events/envelope.js';
import {
  isNoChange,
  type Plan,
  type PlanChange,
  type PlanFault,
  type Standing,
  splitChange,
  subtaskIds,
} from '../../core/plan/index.js';
import { PLAN_SUBJECT } from '../../core/subject.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Attempt, Needs, Operation } from '../operation.js';
import { type Problem, problem } from '../problem.js';
import { UnitBuilder } from '../unit-builder.js';
import { requestOf } from './shared.js';

/** More than a plan may have. */
const NESTING_MAX = 64;

export interface PlanResult {
  version: number;
  added: number;
  changed: number;
  removed: number;
  task_count: number;
}

/** What the plan should become, or why it cannot, given the plan that is there. */
export type PlanProposal = (
  plan: Plan,
  standing: Standing,
) => { ok: true; change: PlanChange } | { ok: false; faults: readonly PlanFault[] };

export interface PlanAsked {
  readonly verb: 'put_plan' | 'add_tasks';
  readonly propose: PlanProposal;
  /** The version the caller saw; null: whatever it is. */
  readonly if_match: number | null;
  readonly request_id: string | undefined;
  /** What was asked, for telling one request from another. */
  readonly body: unknown;
}

export class PlanOperation implements Operation<PlanResult | Problem> {
  readonly kind = 'plan';
  readonly request;

  constructor(
    private readonly asked: PlanAsked,
    private readonly caller: Caller,
  ) {
    const { verb, body, request_id } = asked;
    // What is nested beyond all plans is refused each time it comes, and must not exhaust the stack before.
    this.request = isShallow(body, NESTING_MAX)
      ? requestOf(caller, verb, { body, request_id } as { request_id?: string })
      : null;
  }

  attempt(desk: Desk): Attempt<PlanResult | Problem> | Needs {
    // Two changes of one plan never share a batch: the second is proposed on what the first has made.
    if (desk.isChanging(PLAN_SUBJECT)) return { needs: () => desk.settled() };
    const unit = new UnitBuilder(desk, this.asked.request_id ?? null);
    const known = desk.record(PLAN_SUBJECT);
    const version = versionOf(desk);
    unit.check(PLAN_SUBJECT, known?.seq ?? 0);
    const refused = (reply: Problem) => ({ unit: unit.build(this.request), reply });
    if (this.asked.if_match !== null && this.asked.if_match !== version) {
      return refused(
        problem('PLAN_CHANGED', `The plan is at version ${version}. Read it again, then change it.`),
      );
    }
    const proposal = this.asked.propose(desk.state.plan, {
      isStarted: (id) => desk.head(id).generation > 0,
      isCompleted: (id) => desk.head(id).phase === 'COMPLETED',
    });
    if (!proposal.ok) return refused(invalidPlan(proposal.faults));
    const { change } = proposal;
    const reply = planResult(desk.state.plan, change, isNoChange(change) ? version : version + 1);
    if (isNoChange(change)) return { unit: unit.build(this.request), reply };
    const changing = new UnitBuilder(desk, this.asked.request_id ?? null);
    // Whoever takes a task in this very moment must not see it vanish.
    for (const id of leaving(desk.state.plan, change)) changing.check(id, desk.head(id).seq);
    changing.record(PLAN_SUBJECT, known, this.events(desk, change, reply)).changingRules();
    return { unit: changing.build(this.request, reply), reply };
  }

  replay(): PlanResult {
    throw new Error('a change of plan is remembered with its reply');
  }

  private events(desk: Desk, change: PlanChange, { version, task_count }: PlanResult) {
    return splitChange(change).map((part) => ({
      event_type: 'PLAN_CHANGED',
      timestamp: isoTime(desk.now_ms),
      agent_id: this.caller.user_id ?? this.caller.principal,
      payload: { version, ...part, record: { version, task_count } },
    }));
  }
}

export const versionOf = (desk: Desk): number => (desk.record(PLAN_SUBJECT)?.value.version as number) ?? 0;

function isShallow(value: unknown, depth_max: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth_max > 0 && Object.values(value).every((item) => isShallow(item, depth_max - 1));
}

function planResult(plan: Plan, change: PlanChange, version: number): PlanResult {
  const [added, changed, removed] = [change.added.length, change.changed.length, change.removed.length];
  return { version, added, changed, removed, task_count: plan.task_count + added - removed };
}

function invalidPlan(faults: readonly PlanFault[]): Problem {
  const first = faults[0];
  const place = first?.line === undefined ? (first?.path ?? '') : `line ${first.line}`;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const says = (first?.message ?? 'not a plan').replace(/\.$/, '');
  return problem(
    'INVALID_PLAN',
    `${place}: ${says}${more}. Nothing was changed.`,
    faults.map(({ code, path, message, line, column }) => ({
      code,
      path,
      message,
      ...(line === undefined ? {} : { line }),
      ...(column === undefined ? {} : { column }),
    })),
  );
}

function leaving(plan: Plan, { removed, changed }: PlanChange): string[] {
  const ids = [...removed, ...changed.map(({ id }) => id)];
  return ids.flatMap((id) => {
    const task = plan.task(id);
    return task === undefined ? [] : [id, ...subtaskIds(task)];
  });
}
