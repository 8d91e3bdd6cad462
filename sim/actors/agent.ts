import type { ProjectKey } from '../../src/stores/store.js';
import type { ClaimWish, Command, SimHandle } from './commands.js';
import { handlesIn } from './grants.js';
import { Actor, type Stage } from './stage.js';

const HANDLES_REMEMBERED_MAX = 50;
const WHILE_HOLDING = {
  renew: 30,
  submit: 16,
  release: 8,
  suspend: 8,
  resume: 8,
  note: 6,
  zombie: 8,
  claim: 16,
};
const WHILE_IDLE = { claim: 55, next: 14, batch: 8, atomic: 8, zombie: 8, close_session: 1 };

/** An agent that works, dawdles, forgets, and never quite believes that its time is up. */
export class Agent extends Actor {
  private held: SimHandle[] = [];
  private readonly remembered: SimHandle[] = [];
  private sessions_opened = 0;
  private readonly revocations = this.rng.fork('revocations');

  constructor(
    stage: Stage,
    scope: ProjectKey,
    name: string,
    private session_id: string,
  ) {
    super(stage, scope, name, null);
    this.stumble();
  }

  protected override thinkMs(): number {
    return this.stage.act === 'diligent' ? 1000 : this.stage.scenario.think_ms;
  }

  protected override async actWildly(): Promise<void> {
    const { rng } = this;
    const handle = this.held.length > 0 ? rng.pick(this.held) : null;
    if (handle === null) return this.actIdle(rng.weighted(WHILE_IDLE));
    const action = rng.weighted(WHILE_HOLDING);
    if (action === 'claim') return this.claimOne();
    if (action === 'zombie') return this.haunt();
    const answer = await this.call(this.commands.holder(action, handle, this.extraFor(action)));
    const isOver = action === 'submit' || action === 'release';
    if (isOver || (answer.kind === 'reply' && !isYes(answer.reply))) this.drop(handle);
  }

  protected override async actDiligently(): Promise<void> {
    await this.claim(this.commands.next({ ...this.wishFor(), wait_seconds: this.rng.int(20) }));
    for (const handle of [...this.held]) {
      await this.call(this.commands.holder('submit', handle, this.extraFor('submit')));
      this.drop(handle);
    }
  }

  private async actIdle(action: keyof typeof WHILE_IDLE): Promise<void> {
    if (action === 'claim') return this.claimOne();
    if (action === 'zombie') return this.haunt();
    if (action === 'close_session') return this.closeSession();
    if (action === 'next') {
      const wait_seconds = this.rng.chance(0.3) ? this.rng.int(20) : 0;
      if (wait_seconds > 0) this.mayBeRevoked(wait_seconds);
      return this.claim(this.commands.next({ ...this.wishFor(), wait_seconds }));
    }
    const wishes = this.someSubjects().map((task_id) => ({ task_id, ...this.wishFor() }));
    return this.claim(this.commands.batch(wishes, action === 'batch' ? 'partial' : 'all_or_nothing'));
  }

  private claimOne(): Promise<void> {
    const wish: ClaimWish = { task_id: this.rng.pick(this.stage.scenario.plan.subjects), ...this.wishFor() };
    return this.claim(this.commands.claim(wish));
  }

  private async claim(command: Command): Promise<void> {
    const answer = await this.call(command);
    this.keep(handlesIn(answer, command, this.stage.fleet.incarnation));
    if (answer.kind === 'reply' && reasonOf(answer.reply) === 'SESSION_CLOSED') this.openSession();
  }

  /** Does again what it once might have done, or what nobody was ever allowed to. */
  private async haunt(): Promise<void> {
    if (this.remembered.length === 0 || !this.stage.scenario.has('zombies')) return;
    const old = this.rng.pick(this.remembered);
    const isFuture = this.rng.chance(0.1);
    const handle = isFuture ? { ...old, generation: old.generation + 1 + this.rng.int(3) } : old;
    const op = this.rng.pick(['renew', 'release', 'submit', 'suspend', 'resume', 'note'] as const);
    await this.call(this.commands.holder(op, handle, this.extraFor(op)));
  }

  private async closeSession(): Promise<void> {
    if (!this.stage.scenario.has('close_session')) return;
    await this.call(this.commands.closeSession(this.session_id));
    this.openSession();
  }

  private openSession(): void {
    this.sessions_opened += 1;
    this.session_id = `${this.commands.actor}-s${this.sessions_opened}`;
  }

  private keep(handles: readonly SimHandle[]): void {
    for (const handle of handles) {
      this.held.push(handle);
      this.remembered.push(handle);
      if (this.remembered.length > HANDLES_REMEMBERED_MAX) this.remembered.shift();
    }
  }

  private drop(handle: SimHandle): void {
    // Some forget to let go of what they lost.
    if (this.stage.act === 'wild' && this.rng.chance(0.1)) return;
    this.held = this.held.filter((one) => one !== handle);
  }

  private wishFor() {
    const { lease_seconds } = this.stage.scenario;
    return {
      session_id: this.session_id,
      lease_duration_seconds: Math.max(1, lease_seconds - this.rng.int(5)),
    };
  }

  private someSubjects(): string[] {
    const count = 1 + this.rng.int(3);
    const picked = Array.from({ length: count }, () => this.rng.pick(this.stage.scenario.plan.subjects));
    return [...new Set(picked)];
  }

  private extraFor(op: string): Record<string, unknown> {
    const { rng } = this;
    if (op === 'submit') return { result_data: { by: this.commands.actor, number: rng.int(3) } };
    if (op === 'note') return { text: `remark ${rng.int(5)}` };
    if (op === 'release' && rng.chance(0.5)) return { reason: 'ERROR', message: 'it does not compile' };
    if (op === 'suspend' && rng.chance(0.7)) {
      return { iteration: 1 + rng.int(2), candidate_sha256: String(rng.int(2)).repeat(64) };
    }
    return {};
  }

  /** Somebody revokes its credential while it waits for work, at any coordinator, or after. */
  private mayBeRevoked(wait_seconds: number): void {
    const { scenario, world, fleet } = this.stage;
    const rng = this.revocations;
    if (!rng.chance(scenario.rates.revoked_chance)) return;
    const credential = this.commands.currentCredential;
    world.schedule(rng.between(0, wait_seconds * 1000), 'revocation', () => {
      const sites = Array.from({ length: fleet.size }, (_, number) => fleet.site(number)?.process);
      const up = sites.filter((process) => process !== undefined);
      const first = rng.int(Math.max(up.length, 1));
      world.trace(`${this.process.name} has its credential revoked`);
      credential.revoke([...up.slice(first), ...up.slice(0, first)], (max_ms) => rng.between(0, max_ms));
    });
  }

  /** Is frozen now and then for longer than a lease, and cut off from everybody. */
  private stumble(): void {
    const { rates, lease_seconds } = this.stage.scenario;
    const lease_ms = lease_seconds * 1000;
    const rng = this.rng.fork('stumbles');
    const again = (mean_ms: number | null, befall: () => void): void => {
      if (mean_ms === null) return;
      this.stage.world.schedule(rng.exponential(mean_ms * 4), 'stumble', () => {
        if (this.stage.act !== 'wild') return;
        befall();
        again(mean_ms, befall);
      });
    };
    again(rates.agent_freeze_every_ms, () => this.process.freeze(lease_ms * rng.between(0.1, 3)));
    again(rates.partition_every_ms, () =>
      this.stage.network.cutOff(this.process.name, lease_ms * rng.between(0.1, 2)),
    );
  }
}

function isYes(reply: unknown): boolean {
  const { success, accepted } = reply as { success?: boolean; accepted?: boolean };
  return success === true || accepted === true;
}

const reasonOf = (reply: unknown): string => (reply as { reason?: string }).reason ?? '';
