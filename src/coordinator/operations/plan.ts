import { isoTime } from '../../core/events/envelope.js';
import {
  isNoChange,
  type Plan,
  type PlanChange,
  type PlanFault,
  type Standing,
  subtaskCount,
  subtaskId,
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

/** What the plan should become, or why it cannot. `parts`: the change, cut so that one event can carry each. */
export type ProposedChange =
  | { readonly ok: true; readonly change: PlanChange; readonly parts: readonly PlanChange[] }
  | { readonly ok: false; readonly faults: readonly PlanFault[] };

/** A change of the plan that somebody asks for, worked out on the plan that is there. */
export interface PlanProposal {
  /** Whether `propose` takes no longer on this plan than a decision may. */
  isPrepared(plan: Plan): boolean;
  /** Works out beforehand what takes long, while others are served. */
  prepare(plan: Plan): Promise<void>;
  propose(plan: Plan, standing: Standing): ProposedChange;
}

export interface PlanAsked {
  readonly verb: 'put_plan' | 'add_tasks';
  readonly proposal: PlanProposal;
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
    const { plan } = desk.state;
    if (!this.asked.proposal.isPrepared(plan)) return { needs: () => this.asked.proposal.prepare(plan) };
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
    const proposed = this.asked.proposal.propose(plan, {
      isStarted: (id) => desk.isKnownHead(id) && desk.head(id).generation > 0,
      isCompleted: (id) => desk.head(id).phase === 'COMPLETED',
    });
    if (!proposed.ok) return refused(invalidPlan(proposed.faults));
    const { change, parts } = proposed;
    const reply = planResult(plan, change, isNoChange(change) ? version : version + 1);
    if (isNoChange(change)) return { unit: unit.build(this.request), reply };
    const changing = new UnitBuilder(desk, this.asked.request_id ?? null);
    // Whoever takes a task in this very moment must not see it vanish.
    for (const id of leaving(plan, change)) {
      if (desk.isKnownHead(id)) changing.check(id, desk.head(id).seq);
      else if (desk.hasOtherWriters) changing.check(id, 0);
    }
    changing.record(PLAN_SUBJECT, known, this.events(desk, parts, reply)).changingRules();
    return { unit: changing.build(this.request, reply), reply };
  }

  replay(): PlanResult {
    throw new Error('a change of plan is remembered with its reply');
  }

  private events(desk: Desk, parts: readonly PlanChange[], { version, task_count }: PlanResult) {
    return parts.map((part) => ({
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

function* leaving(plan: Plan, { removed, changed }: PlanChange): Generator<string> {
  for (const task of [...removed, ...changed.map(({ id }) => id)]) {
    const planned = plan.task(task);
    if (planned === undefined) continue;
    yield planned.id;
    for (let index = 1; index <= subtaskCount(planned); index += 1) yield subtaskId(planned.id, index);
  }
}
