import type { Caller, Coordinator } from '../../src/coordinator/index.js';
import type { ProjectKey } from '../../src/stores/store.js';

/** A grant as an agent remembers it. */
export interface SimHandle {
  readonly task_id: string;
  readonly generation: number;
  readonly session_id: string;
  readonly claim_id: string;
  /** The request that was granted. */
  readonly granted_by: string;
  /** Of the store then. */
  readonly incarnation: number;
}

/** One command, to be sent as often as it takes. */
export interface Command {
  readonly op: string;
  readonly scope: ProjectKey;
  readonly request_id: string;
  /** Under which its effects stand in the log; a batch has one for each of its claims. */
  readonly request_ids: readonly string[];
  readonly subject: string | null;
  readonly handle: SimHandle | null;
  /** The store remembers it: a retry gets its first reply again. */
  readonly remembered: boolean;
  readonly send: (coordinator: Coordinator) => Promise<unknown>;
}

type HolderOp = 'renew' | 'release' | 'submit' | 'suspend' | 'resume' | 'note';
/** These are idempotent from the head, and remembered nowhere. */
const FROM_THE_HEAD: ReadonlySet<HolderOp> = new Set(['renew', 'release', 'submit']);

type OperatorVerb = Parameters<Coordinator['operate']>[2];

export interface ClaimWish {
  readonly task_id: string;
  readonly session_id: string;
  readonly lease_duration_seconds: number;
}

/** Makes the commands of one actor, each with a request id of its own. */
export class Commands {
  private count = 0;

  constructor(
    private readonly scope: ProjectKey,
    readonly actor: string,
    private readonly caller: Caller,
  ) {}

  claim(wish: ClaimWish): Command {
    const request_id = this.newId();
    const body = { ...wish, agent_id: this.actor, request_id };
    return this.command('claim', { request_id, subject: wish.task_id, remembered: true }, (coordinator) =>
      coordinator.claimTask(this.scope, body, this.caller),
    );
  }

  next(wish: Omit<ClaimWish, 'task_id'> & { wait_seconds: number }): Command {
    const request_id = this.newId();
    const body = { ...wish, agent_id: this.actor, request_id };
    return this.command('next', { request_id, remembered: true }, (coordinator) =>
      coordinator.next(this.scope, body, this.caller),
    );
  }

  batch(wishes: readonly ClaimWish[], mode: 'partial' | 'all_or_nothing'): Command {
    const request_id = this.newId();
    const claims = wishes.map((wish, at) => ({
      ...wish,
      agent_id: this.actor,
      request_id: `${request_id}.${at}`,
    }));
    const request_ids = claims.map((claim) => claim.request_id);
    return this.command(
      mode === 'partial' ? 'batch' : 'atomic',
      { request_id, request_ids, remembered: mode === 'all_or_nothing' },
      (coordinator) => coordinator.batchClaim(this.scope, { claims, mode, request_id }, this.caller),
    );
  }

  /** What a holder does, or somebody who still believes to be one. */
  holder(op: HolderOp, handle: SimHandle, extra: Readonly<Record<string, unknown>> = {}): Command {
    const request_id = this.newId();
    const { task_id, session_id, claim_id, generation } = handle;
    const base = { task_id, session_id, claim_id, request_id, ...extra };
    const seen = { ...base, expected_generation: generation };
    const own = { ...base, generation };
    const send: Record<HolderOp, (coordinator: Coordinator) => Promise<unknown>> = {
      renew: (to) => to.renewLease(this.scope, seen, this.caller),
      release: (to) => to.releaseClaim(this.scope, seen, this.caller),
      submit: (to) => to.submitResult(this.scope, own, this.caller),
      suspend: (to) => to.suspendClaim(this.scope, seen, this.caller),
      resume: (to) => to.resumeClaim(this.scope, seen, this.caller),
      note: (to) => to.note(this.scope, own, this.caller),
    };
    const remembered = !FROM_THE_HEAD.has(op);
    return this.command(op, { request_id, subject: task_id, handle, remembered }, send[op]);
  }

  closeSession(session_id: string): Command {
    return this.command('close_session', { request_id: this.newId() }, (coordinator) =>
      coordinator.sessions.close(this.scope.tenant_id, session_id, this.caller),
    );
  }

  operate(verb: OperatorVerb, task_id: string, body: Readonly<Record<string, unknown>>): Command {
    const request_id = this.newId();
    return this.command(verb, { request_id, subject: task_id, remembered: true }, (coordinator) =>
      coordinator.operate(this.scope, task_id, verb, { ...body, request_id }, this.caller),
    );
  }

  review(body: Readonly<Record<string, unknown>> & { task_id: string }): Command {
    const request_id = this.newId();
    return this.command('review', { request_id, subject: body.task_id, remembered: true }, (coordinator) =>
      coordinator.recordReview(this.scope, { ...body, request_id }, this.caller),
    );
  }

  putPlan(plan: unknown): Command {
    const request_id = this.newId();
    return this.command('put_plan', { request_id, remembered: true }, (coordinator) =>
      coordinator.plans.put(this.scope, plan, { request_id }, this.caller),
    );
  }

  addTasks(tasks: unknown): Command {
    const request_id = this.newId();
    return this.command('add_tasks', { request_id, remembered: true }, (coordinator) =>
      coordinator.plans.add(this.scope, tasks, { request_id }, this.caller),
    );
  }

  putPolicy(policy: Readonly<Record<string, unknown>>): Command {
    const request_id = this.newId();
    return this.command('put_policy', { request_id, remembered: true }, (coordinator) =>
      coordinator.settings.putPolicy(this.scope, { ...policy, request_id }, this.caller),
    );
  }

  /** One round of the sweeper, as an operator may ask for it. */
  sweep(): Command {
    return this.command('sweep', { request_id: this.newId() }, async (coordinator) => ({
      success: true,
      swept: await coordinator.sweep(),
    }));
  }

  private command(
    op: string,
    parts: Pick<Command, 'request_id'> & Partial<Command>,
    send: (coordinator: Coordinator) => Promise<unknown>,
  ): Command {
    return {
      op,
      scope: this.scope,
      request_ids: [parts.request_id],
      subject: null,
      handle: null,
      remembered: false,
      send,
      ...parts,
    };
  }

  private newId(): string {
    this.count += 1;
    return `${this.scope.tenant_id}.${this.actor}.${this.count}`;
  }
}
