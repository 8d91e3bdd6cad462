import type { Coordinator } from '../../src/coordinator/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { personCaller } from './agent.js';
import { candidateDigest } from './candidate-digest.js';
import { planOf } from './coordinator-harness.js';
import { SeededRandom } from './seeded-random.js';

const EDGE = 'REQ-F-1#design_code';
const SESSIONS = ['s1', 's2', 's3'] as const;
const RESULTS = ['one', 'two', { three: [3] }] as const;
const DECISIONS = ['APPROVED', 'REJECTED', 'CHANGES_REQUESTED'] as const;

interface KnownHandle {
  readonly task_id: string;
  readonly session_id: string;
  readonly generation: number;
  readonly claim_id: string;
}

/** The fields of requests and replies that a client reads. */
interface SentFields extends KnownHandle {
  readonly expected_generation: number;
  readonly candidate_sha256?: string;
  readonly result_data?: unknown;
}
interface ReplyFields {
  readonly results?: readonly unknown[];
  readonly claim?: { task_id: string; session_id: string; generation: number; id?: string } | null;
  readonly task_id?: string;
  readonly generation?: number;
  readonly parked?: unknown;
  readonly accepted?: boolean;
  readonly reason?: string;
}

interface ClientStep {
  readonly name: string;
  readonly body: unknown;
}

type SendStep = (body: never) => Promise<unknown>;

/**
 * Sends one command after another to one project. The commands follow from its seed and from the replies, so two
 * clients with one seed differ as soon as two coordinators do, and not before.
 */
export class RandomClient {
  private readonly random: SeededRandom;
  private readonly tasks: string[];
  private readonly plan: unknown;
  private readonly handles: KnownHandle[] = [];
  private readonly parked: { task_id: string; result_id: string }[] = [];
  private readonly gates: { task_id: string; generation: number; candidate_sha256: string }[] = [];
  private readonly completed: string[] = [];
  private readonly generations = new Map<string, number>();
  private readonly sentSteps: ClientStep[] = [];
  private requests = 0;

  constructor(
    private readonly coordinator: Coordinator,
    readonly projectKey: ProjectKey,
    seed: number,
  ) {
    this.random = new SeededRandom(seed);
    const subtasks = this.random.chance(50) ? { subtasks: 2 } : {};
    const tasks = [
      'A-001-x',
      { id: 'A-002-x', depends_on: ['A-001-x'], ...subtasks },
      { id: 'B-001-x', priority: this.random.below(3) },
      { id: 'B-002-x', depends_on: ['A-001-x', 'B-001-x'] },
    ].slice(0, 2 + this.random.below(3));
    this.plan = planOf(...tasks);
    const ids = tasks.map((task) => (typeof task === 'string' ? task : task.id));
    this.tasks = [...ids, ...('subtasks' in subtasks ? ['A-002-x::1', 'A-002-x::2'] : []), EDGE];
  }

  /** Every subject that this client may have touched. */
  get subjects(): readonly string[] {
    return [...this.tasks, 'C-001-x'];
  }

  async begin(): Promise<void> {
    await this.coordinator.plans.put(this.projectKey, this.plan);
    await this.coordinator.settings.putLimits(this.projectKey.tenant_id, {
      max_concurrent_claims: 2 + this.random.below(4),
      max_active_sessions: 2 + this.random.below(2),
      max_generations_per_task: 5 + this.random.below(20),
    });
    const stale = this.random.pick(['hold', 'takeover', { task: 'takeover' }]);
    await this.coordinator.settings.putPolicy(this.projectKey, {
      stale_policy: stale,
      max_attempts: 2 + this.random.below(3),
    });
  }

  async step(): Promise<{ step: ClientStep; reply: unknown }> {
    const repeated = this.random.chance(8) ? this.sentSteps.at(-1 - this.random.below(3)) : undefined;
    const step = repeated ?? this.choose();
    this.sentSteps.push(step);
    const reply = await this.senders[step.name]?.(step.body as never);
    this.learn(reply, step);
    return { step, reply };
  }

  private choose(): ClientStep {
    const { random } = this;
    const name = random.pick(WEIGHTED);
    switch (name) {
      case 'claim':
        return {
          name,
          body: {
            task_id: this.randomTask(),
            ...this.randomAgent(),
            ...this.randomLease(),
            ...this.randomRequest(),
          },
        };
      case 'next':
        return { name, body: { ...this.randomAgent(), ...this.randomRequest() } };
      case 'batch': {
        const who = this.randomAgent();
        const claims = [...new Set([this.randomTask(), this.randomTask()])].map((task_id) => ({
          task_id,
          ...who,
        }));
        return {
          name,
          body: { claims, mode: random.pick(['partial', 'all_or_nothing']), ...this.randomRequest() },
        };
      }
      case 'renew':
      case 'resume':
        return { name, body: this.expectedHandle() };
      case 'release':
        return {
          name,
          body: { ...this.expectedHandle(), ...random.pick([{}, { reason: 'ERROR', message: 'no' }]) },
        };
      case 'submit':
        return { name, body: { ...this.randomHandle(), result_data: random.pick(RESULTS) } };
      case 'note':
        return { name, body: { ...this.randomHandle(), text: random.pick(['this', 'that']) } };
      case 'suspend': {
        const gate = { iteration: 1, candidate_sha256: candidateDigest(random.pick(RESULTS)) };
        return { name, body: { ...this.expectedHandle(), ...(random.chance(60) ? gate : {}) } };
      }
      case 'review':
        return { name, body: { ...this.randomGate(), decision: random.pick(DECISIONS) } };
      case 'policy':
        return { name, body: this.randomPolicy() };
      case 'limits':
        return { name, body: { max_concurrent_claims: 1 + random.below(5), ...this.randomRequest() } };
      case 'plan':
        return {
          name,
          body: random.pick([this.plan, planOf('C-001-x'), planOf({ id: 'C-001-x', depends_on: ['Q'] })]),
        };
      case 'add':
        return { name, body: [{ id: 'C-001-x', description: 'more', depends_on: [] }] };
      case 'open_session':
        return {
          name,
          body: { session_id: random.pick(SESSIONS), user_id: 'u', project_id: this.projectKey.project_id },
        };
      case 'close_session':
        return { name, body: random.pick(SESSIONS) };
      default:
        return { name, body: this.operatorCommand(name) };
    }
  }

  private readonly senders: Readonly<Record<string, SendStep>> = {
    claim: (body) => this.coordinator.claims.claimTask(this.projectKey, body),
    next: (body) => this.coordinator.claims.next(this.projectKey, body),
    batch: (body) => this.coordinator.claims.batchClaim(this.projectKey, body),
    renew: (body) => this.coordinator.holder.renewLease(this.projectKey, body),
    release: (body) => this.coordinator.holder.releaseClaim(this.projectKey, body),
    submit: (body) => this.coordinator.holder.submitResult(this.projectKey, body),
    note: (body) => this.coordinator.holder.note(this.projectKey, body),
    suspend: (body) => this.coordinator.holder.suspendClaim(this.projectKey, body),
    resume: (body) => this.coordinator.holder.resumeClaim(this.projectKey, body),
    review: (body) => this.coordinator.decisions.recordReview(this.projectKey, body, personCaller('rita')),
    policy: (body) => this.coordinator.settings.putPolicy(this.projectKey, body),
    limits: (body) => this.coordinator.settings.putLimits(this.projectKey.tenant_id, body),
    plan: (body) => this.coordinator.plans.put(this.projectKey, body),
    add: (body) => this.coordinator.plans.add(this.projectKey, body),
    open_session: (body) => this.coordinator.sessions.open(this.projectKey.tenant_id, body),
    close_session: (body) => this.coordinator.sessions.close(this.projectKey.tenant_id, body),
    force_release: (body) => this.operate('force_release', body),
    reassign: (body) => this.operate('reassign', body),
    reset: (body) => this.operate('reset', body),
    hold: (body) => this.operate('hold', body),
    unhold: (body) => this.operate('unhold', body),
    adopt: (body) => this.operate('adopt', body),
  };

  private operate(
    verb: 'force_release' | 'reassign' | 'reset' | 'hold' | 'unhold' | 'adopt',
    request: unknown,
  ) {
    const { task_id, body } = request as { task_id: string; body: unknown };
    return this.coordinator.decisions.operate(this.projectKey, task_id, verb, body, personCaller('ops'));
  }

  private operatorCommand(name: string) {
    const parked = this.random.pick(this.parked);
    const preferred = { adopt: parked?.task_id, reset: this.random.pick(this.completed) };
    const task_id = preferred[name as keyof typeof preferred] ?? this.randomTask();
    const expectedGeneration = (this.generations.get(task_id) ?? 0) + (this.random.chance(10) ? 1 : 0);
    const body = {
      expected_generation: expectedGeneration,
      reason: this.random.pick(['because', 'why not']),
      ...this.randomRequest(),
    };
    if (name === 'adopt') return { task_id, body: { ...body, result_id: parked?.result_id ?? 'res_none' } };
    return { task_id, body: name === 'reassign' ? { ...body, ...this.randomAgent() } : body };
  }

  private randomPolicy() {
    return this.random.pick([
      { late_submit: 'reject' },
      { late_submit: 'accept' },
      { stale_policy: 'hold' },
      { stale_policy: { task: 'takeover', edge: 'takeover' } },
      { max_hold_seconds: 500 },
      { max_agents_per_track: 1 },
      { max_agents_per_track: null },
      { suspend_max_seconds: 600 },
    ]);
  }

  private randomAgent() {
    const at = this.random.below(SESSIONS.length);
    return { agent_id: `agent-${at}`, session_id: SESSIONS[at] };
  }

  private randomTask(): string {
    return this.random.chance(3) ? 'Z-001-none' : this.random.pick(this.tasks);
  }

  private randomLease() {
    return this.random.pick([
      {},
      {},
      {},
      ...[30, 60, 600, 3600, 9].map((lease_duration_seconds) => ({ lease_duration_seconds })),
    ]);
  }

  private randomRequest() {
    if (!this.random.chance(30)) return {};
    // Sometimes reuses an earlier id, with a different body.
    if (!this.random.chance(15)) this.requests += 1;
    return { request_id: `r${this.requests}` };
  }

  /** One of the latest grants, usually the very last. */
  private randomHandle(): KnownHandle {
    const last = this.handles.slice(this.random.chance(50) ? -1 : -4);
    if (last.length > 0) return this.random.pick(last);
    return { task_id: this.randomTask(), session_id: 's1', generation: 1, claim_id: 'x' };
  }

  private randomGate() {
    const { task_id, generation } = this.randomHandle();
    const guess = { task_id, generation, candidate_sha256: candidateDigest(this.random.pick(RESULTS)) };
    return { iteration: 1, ...((this.random.chance(80) ? this.gates.at(-1) : undefined) ?? guess) };
  }

  private expectedHandle() {
    const { generation, ...rest } = this.randomHandle();
    return { ...rest, expected_generation: generation };
  }

  private learn(reply: unknown, { name, body }: ClientStep): void {
    const fields = (reply ?? {}) as ReplyFields;
    for (const itemReply of fields.results ?? []) this.learn(itemReply, { name: 'claim', body: null });
    if (fields.claim?.id !== undefined) {
      const { task_id, session_id, generation, id } = fields.claim;
      this.handles.push({ task_id, session_id, generation, claim_id: id });
      this.generations.set(task_id, generation);
    }
    if (fields.task_id !== undefined) this.generations.set(fields.task_id, fields.generation ?? 0);
    const { task_id, expected_generation, generation, candidate_sha256, result_data } = (body ??
      {}) as SentFields;
    if (name === 'submit' && typeof fields.parked === 'string') {
      this.parked.push({ task_id, result_id: fields.parked });
    }
    if (fields.accepted) this.completed.push(task_id);
    if (fields.reason === 'SUSPENDED' && candidate_sha256 !== undefined) {
      this.gates.push({ task_id, generation: expected_generation, candidate_sha256 });
    }
    if (fields.reason === 'ESCALATED') {
      this.gates.push({ task_id, generation, candidate_sha256: candidateDigest(result_data) });
    }
  }
}

/** The frequency of each command: mostly work, sometimes people and settings. */
const WEIGHTED: readonly string[] = Object.entries({
  claim: 24,
  next: 8,
  batch: 5,
  renew: 8,
  release: 7,
  submit: 20,
  note: 3,
  suspend: 4,
  resume: 3,
  review: 4,
  policy: 3,
  limits: 2,
  plan: 1,
  add: 1,
  open_session: 1,
  close_session: 1,
  force_release: 2,
  reassign: 2,
  reset: 3,
  hold: 2,
  unhold: 3,
  adopt: 3,
}).flatMap(([name, weight]) => Array.from({ length: weight }, () => name));
