import { isProblem } from '../../src/coordinator/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import type { SimClaimRequest, SimCommand, SimHandle } from './commands.js';
import { grantedHandles } from './grants.js';
import { type ActorContext, SimActor } from './sim-actor.js';

const PAST_HANDLES_MAX = 50;
const HOLDER_ACTION_WEIGHTS = {
  renew: 30,
  submit: 16,
  release: 8,
  suspend: 8,
  resume: 8,
  note: 6,
  zombie: 8,
  claim: 16,
  forget: 6,
};
const IDLE_ACTION_WEIGHTS = { claim: 55, next: 14, batch: 8, atomic: 8, zombie: 8, close_session: 1 };

/** A simulated agent that works, is slow, forgets handles, and keeps using leases that have expired. */
export class SimAgent extends SimActor {
  private heldHandles: SimHandle[] = [];
  private readonly pastHandles: SimHandle[] = [];
  private sessionsOpened = 0;
  private readonly revocations = this.rng.fork('revocations');

  constructor(
    context: ActorContext,
    projectKey: ProjectKey,
    name: string,
    private sessionId: string,
    userId: string | null,
  ) {
    super(context, projectKey, name, userId);
    this.scheduleFaults();
  }

  protected override thinkMs(): number {
    return this.context.phase === 'completing' ? 1000 : this.context.scenario.think_ms;
  }

  protected override async actRandomly(): Promise<void> {
    const { rng } = this;
    const handle = this.heldHandles.length > 0 ? rng.pick(this.heldHandles) : null;
    if (handle === null) return this.actIdle(rng.weighted(IDLE_ACTION_WEIGHTS));
    const action = rng.weighted(HOLDER_ACTION_WEIGHTS);
    if (action === 'claim') return this.claimOne();
    if (action === 'zombie') return this.replayStaleHandle();
    if (action === 'forget') return this.forgetAndResume();
    const outcome = await this.call(this.commands.holderCommand(action, handle, this.extraFields(action)));
    const isOver = action === 'submit' || action === 'release';
    if (isOver || (outcome.kind === 'reply' && !isSuccess(outcome.reply))) this.dropHandle(handle);
  }

  protected override async actDiligently(): Promise<void> {
    await this.claim(this.commands.next({ ...this.sessionAndLease(), wait_seconds: this.rng.int(20) }));
    for (const handle of [...this.heldHandles]) {
      await this.call(this.commands.holderCommand('submit', handle, this.extraFields('submit')));
      this.dropHandle(handle);
    }
  }

  private async actIdle(action: keyof typeof IDLE_ACTION_WEIGHTS): Promise<void> {
    if (action === 'claim') return this.claimOne();
    if (action === 'zombie') return this.replayStaleHandle();
    if (action === 'close_session') return this.closeSession();
    if (action === 'next') {
      const wait_seconds = this.rng.chance(0.3) ? this.rng.int(20) : 0;
      if (wait_seconds > 0) this.maybeRevokeCredential(wait_seconds);
      return this.claim(this.commands.next({ ...this.sessionAndLease(), wait_seconds }));
    }
    const requests = this.pickSubjects().map((task_id) => ({ task_id, ...this.sessionAndLease() }));
    return this.claim(this.commands.batch(requests, action === 'batch' ? 'partial' : 'all_or_nothing'));
  }

  /** Forgets its handles, as a model may, and resumes a claim of its session: of one named task, or whichever `next` gives. */
  private forgetAndResume(): Promise<void> {
    const [first] = this.heldHandles;
    this.heldHandles = [];
    const request = { ...this.sessionAndLease(), resume: true };
    return first !== undefined && this.rng.chance(0.5)
      ? this.claim(this.commands.claim({ task_id: first.task_id, ...request }))
      : this.claim(this.commands.next({ ...request, wait_seconds: 0 }));
  }

  private claimOne(): Promise<void> {
    const request: SimClaimRequest = {
      task_id: this.rng.pick(this.context.scenario.plan.subjects),
      ...this.sessionAndLease(),
    };
    return this.claim(this.commands.claim(request));
  }

  private async claim(command: SimCommand): Promise<void> {
    const outcome = await this.call(command);
    this.rememberHandles(grantedHandles(outcome, command));
    if (outcome.kind === 'reply' && isSessionUnusable(outcome.reply)) this.openSession();
  }

  /** Sends an operation with any handle that it ever got, valid or not, or with a later generation than that handle has. */
  private async replayStaleHandle(): Promise<void> {
    if (this.pastHandles.length === 0 || !this.context.scenario.has('zombies')) return;
    const oldHandle = this.rng.pick(this.pastHandles);
    const isFuture = this.rng.chance(0.1);
    const handle = isFuture
      ? { ...oldHandle, generation: oldHandle.generation + 1 + this.rng.int(3) }
      : oldHandle;
    const op = this.rng.pick(['renew', 'release', 'submit', 'suspend', 'resume', 'note'] as const);
    await this.call(this.commands.holderCommand(op, handle, this.extraFields(op)));
  }

  private async closeSession(): Promise<void> {
    if (!this.context.scenario.has('close_session')) return;
    await this.call(this.commands.closeSession(this.sessionId));
    this.openSession();
  }

  private openSession(): void {
    this.sessionsOpened += 1;
    this.sessionId = `${this.commands.actor}-s${this.sessionsOpened}`;
  }

  private rememberHandles(handles: readonly SimHandle[]): void {
    for (const handle of handles) {
      this.heldHandles.push(handle);
      this.pastHandles.push(handle);
      if (this.pastHandles.length > PAST_HANDLES_MAX) this.pastHandles.shift();
    }
  }

  private dropHandle(handle: SimHandle): void {
    // Some agents keep using a handle that they have lost.
    if (this.context.phase === 'random' && this.rng.chance(0.1)) return;
    this.heldHandles = this.heldHandles.filter((other) => other !== handle);
  }

  private sessionAndLease() {
    const { lease_seconds } = this.context.scenario;
    return {
      session_id: this.sessionId,
      lease_duration_seconds: Math.max(1, lease_seconds - this.rng.int(5)),
    };
  }

  private pickSubjects(): string[] {
    const count = 1 + this.rng.int(3);
    const picked = Array.from({ length: count }, () => this.rng.pick(this.context.scenario.plan.subjects));
    return [...new Set(picked)];
  }

  private extraFields(op: string): Record<string, unknown> {
    const { rng } = this;
    if (op === 'submit') return { result_data: { by: this.commands.actor, number: rng.int(3) } };
    if (op === 'note') return { text: `remark ${rng.int(5)}` };
    if (op === 'release' && rng.chance(0.5)) return { reason: 'ERROR', message: 'it does not compile' };
    if (op === 'suspend' && rng.chance(0.7)) {
      return { iteration: 1 + rng.int(2), candidate_sha256: String(rng.int(2)).repeat(64) };
    }
    return {};
  }

  /**
   * Sometimes schedules the revocation of its credential, during or after its wait for work. A random coordinator sees the
   * revocation first.
   */
  private maybeRevokeCredential(waitSeconds: number): void {
    const { scenario, world, fleet } = this.context;
    const rng = this.revocations;
    if (!rng.chance(scenario.rates.revoked_chance)) return;
    const credential = this.commands.currentCredential;
    world.schedule(rng.between(0, waitSeconds * 1000), 'revocation', () => {
      const processes = Array.from({ length: fleet.size }, (_, index) => fleet.instanceAt(index)?.process);
      const runningProcesses = processes.filter((process) => process !== undefined);
      const firstIndex = rng.int(Math.max(runningProcesses.length, 1));
      world.trace(`${this.process.name} has its credential revoked`);
      credential.revoke(
        [...runningProcesses.slice(firstIndex), ...runningProcesses.slice(0, firstIndex)],
        (maxMs) => rng.between(0, maxMs),
      );
    });
  }

  /** Schedules faults of this agent: freezes, some longer than a lease, and network partitions. */
  private scheduleFaults(): void {
    const { rates, lease_seconds } = this.context.scenario;
    const leaseMs = lease_seconds * 1000;
    const rng = this.rng.fork('stumbles');
    const scheduleNext = (meanMs: number | null, inflict: () => void): void => {
      if (meanMs === null) return;
      this.context.world.schedule(rng.exponential(meanMs * 4), 'stumble', () => {
        if (this.context.phase !== 'random') return;
        inflict();
        scheduleNext(meanMs, inflict);
      });
    };
    scheduleNext(rates.agent_freeze_every_ms, () => this.process.freeze(leaseMs * rng.between(0.1, 3)));
    scheduleNext(rates.partition_every_ms, () =>
      this.context.network.partition(this.process.name, leaseMs * rng.between(0.1, 2)),
    );
  }
}

function isSuccess(reply: unknown): boolean {
  const { success, accepted } = reply as { success?: boolean; accepted?: boolean };
  return success === true || accepted === true;
}

/** Whether the session is closed, or belongs to another credential. */
const isSessionUnusable = (reply: unknown): boolean =>
  isProblem(reply)
    ? reply.problem === 'FORBIDDEN'
    : (reply as { reason?: string }).reason === 'SESSION_CLOSED';
