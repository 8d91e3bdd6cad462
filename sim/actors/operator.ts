import type { Head } from '../../src/core/claims/head.js';
import { holdText, isLive } from '../../src/core/claims/lease.js';
import { dependenciesOf } from '../../src/core/plan/index.js';
import { WORLD_EPOCH_MS } from '../world/world.js';
import type { SimCommand } from './commands.js';
import { grantedHandles } from './grants.js';
import { SimActor } from './sim-actor.js';

const ACTION_WEIGHTS = {
  reset: 30,
  force_release: 12,
  reassign: 10,
  hold: 5,
  unhold: 14,
  adopt: 14,
  review: 14,
  redo: 8,
  add_tasks: 2,
  put_plan: 1,
  put_policy: 1,
  sweep: 4,
};
const STUCK_AFTER_LEASES = 2;
type OperatorAction = keyof typeof ACTION_WEIGHTS;

/** An operator who acts on a view of the project that may be slightly out of date. */
export class SimOperator extends SimActor {
  private tasksAdded = 0;
  private readonly unchangedSince = new Map<string, { seq: number; since_ms: number }>();

  protected override mayReview(): boolean {
    return true;
  }

  protected override thinkMs(): number {
    return this.context.scenario.think_ms / (this.context.phase === 'random' ? 1.5 : 1);
  }

  protected override async actRandomly(): Promise<void> {
    const { scenario } = this.context;
    const action = this.rng.weighted(ACTION_WEIGHTS);
    const isPlan = action === 'add_tasks' || action === 'put_plan';
    // The plan cannot be changed before it exists.
    if (isPlan && (!scenario.has('plan_changes') || this.projectMonitor().state.plan.task_count === 0))
      return;
    if (action === 'put_policy' && !scenario.has('policy_changes')) return;
    if (action === 'redo') return scenario.has('redo') ? this.redo() : undefined;
    const command = this.commandFor(action);
    if (command !== null) await this.call(command);
  }

  /** Lifts every hold, and releases subjects whose head has not changed for so long that only a person can free them. */
  protected override async actDiligently(): Promise<void> {
    for (const head of [...this.projectMonitor().state.heads.values()]) {
      if (head.phase === 'COMPLETED') continue;
      const body = { expected_generation: head.generation, reason: 'so that work goes on' };
      const isStuck = this.isStuck(head);
      if (head.hold !== null || isStuck) await this.call(this.commands.operate('unhold', head.subject, body));
      const isOpen = head.claim?.state === 'ACTIVE' || head.claim?.state === 'SUSPENDED';
      if (isStuck && isOpen) await this.call(this.commands.operate('force_release', head.subject, body));
    }
  }

  private isStuck({ subject, seq }: Head): boolean {
    const { world, scenario } = this.context;
    const lastSeen = this.unchangedSince.get(subject);
    if (lastSeen?.seq !== seq) this.unchangedSince.set(subject, { seq, since_ms: world.now_ms });
    return (
      lastSeen?.seq === seq &&
      world.now_ms - lastSeen.since_ms > STUCK_AFTER_LEASES * scenario.lease_seconds * 1000
    );
  }

  private approximateNowMs(): number {
    const newest = this.projectMonitor().state.last_updated;
    return newest === null ? WORLD_EPOCH_MS : Date.parse(newest);
  }

  private commandFor(action: Exclude<OperatorAction, 'redo'>): SimCommand | null {
    switch (action) {
      case 'add_tasks':
        return this.addTask();
      case 'put_plan':
        return this.commands.putPlan(this.context.scenario.plan.input);
      case 'put_policy':
        return this.commands.putPolicy({ late_submit: this.rng.pick(['accept', 'reject']) });
      case 'sweep':
        return this.commands.sweep();
      case 'review':
        return this.review();
      default:
        return this.operate(action);
    }
  }

  private operate(
    verb: Exclude<OperatorAction, 'add_tasks' | 'put_plan' | 'put_policy' | 'sweep' | 'review' | 'redo'>,
  ): SimCommand | null {
    const head = this.pickHead(verb);
    if (head === null) return null;
    const isStale = this.rng.chance(0.05);
    const body = {
      expected_generation: Math.max(0, head.generation - (isStale ? 1 : 0)),
      reason: `because of ${this.rng.int(3)}`,
    };
    if (verb === 'reassign') {
      const agent_id = `agent-${this.rng.int(this.context.scenario.agents)}`;
      const { lease_seconds } = this.context.scenario;
      const to = { agent_id, session_id: `s${this.rng.int(3)}`, lease_duration_seconds: lease_seconds };
      return this.commands.operate(verb, head.subject, { ...body, ...to });
    }
    if (verb !== 'adopt') return this.commands.operate(verb, head.subject, body);
    const parked = [...(this.projectMonitor().state.parked.get(head.subject) ?? [])];
    const result_id = parked.length === 0 ? 'res_nothing' : this.rng.pick(parked);
    return this.commands.operate(verb, head.subject, { ...body, result_id });
  }

  /** Picks a subject to which the verb applies, most of the time. */
  private pickHead(verb: string): Head | null {
    const projectMonitor = this.projectMonitor();
    const heads = [...projectMonitor.state.heads.values()];
    const nowMs = this.approximateNowMs();
    const eligible = heads.filter((head) => {
      if (verb === 'reset') return head.phase === 'COMPLETED';
      if (verb === 'unhold') return holdText(head, nowMs, projectMonitor.rulesOf(head.subject)) !== null;
      if (verb === 'adopt') return head.phase === 'OPEN' && projectMonitor.state.parked.has(head.subject);
      if (verb === 'hold') return head.phase === 'OPEN';
      return isLive(head, nowMs, projectMonitor.rulesOf(head.subject));
    });
    const choices = eligible.length > 0 && this.rng.chance(0.95) ? eligible : heads;
    return choices.length === 0 ? null : this.rng.pick(choices);
  }

  /** Resets a dependency of work that is in progress, and then completes that dependency again. */
  private async redo(): Promise<void> {
    const head = this.pickHeadInUse();
    if (head === null) return;
    const { subject, generation } = head;
    const { lease_seconds } = this.context.scenario;
    const body = { expected_generation: generation, reason: 'it can be done better' };
    await this.call(this.commands.operate('reset', subject, body));
    const request = { task_id: subject, session_id: 'redo', lease_duration_seconds: lease_seconds };
    const claim = this.commands.claim(request);
    const granted = grantedHandles(await this.call(claim), claim);
    for (const handle of granted) {
      await this.call(
        this.commands.holderCommand('submit', handle, { result_data: { anew: this.rng.int(3) } }),
      );
      this.context.coverage.hit('completed again');
    }
  }

  /** Picks a completed head that is a dependency of a live claim. */
  private pickHeadInUse(): Head | null {
    const projectMonitor = this.projectMonitor();
    const { plan, heads } = projectMonitor.state;
    const nowMs = this.approximateNowMs();
    const liveHeads = [...heads.values()].filter((head) =>
      isLive(head, nowMs, projectMonitor.rulesOf(head.subject)),
    );
    const dependencyHeads = liveHeads.flatMap(({ subject }) =>
      dependenciesOf(plan, subject).map((id) => heads.get(id)),
    );
    const completed = dependencyHeads.filter((head) => head?.phase === 'COMPLETED');
    return completed.length === 0 ? null : (this.rng.pick(completed) ?? null);
  }

  protected review(): SimCommand | null {
    const waiting = [...this.projectMonitor().state.heads.values()].filter(({ gate }) => gate !== null);
    if (waiting.length === 0) return null;
    const { subject, gate } = this.rng.pick(waiting);
    if (gate === null) return null;
    const decision = this.rng.pick(['APPROVED', 'APPROVED', 'REJECTED', 'CHANGES_REQUESTED']);
    const { generation, iteration, candidate_sha256 } = gate;
    return this.commands.review({ task_id: subject, generation, iteration, candidate_sha256, decision });
  }

  private addTask(): SimCommand {
    this.tasksAdded += 1;
    const id = `${this.rng.pick(['A', 'B'])}-${100 + this.tasksAdded * 10 + this.rng.int(9)}-more`;
    return this.commands.addTasks([{ id, description: 'found on the way', depends_on: [] }]);
  }
}
