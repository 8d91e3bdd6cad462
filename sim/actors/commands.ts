import type { Caller, Coordinator } from '../../src/coordinator/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import type { Site } from '../fleet/site.js';
import { Credential, type Credentials } from './credential.js';

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
  readonly credential: Credential;
  readonly send: (site: Pick<Site, 'coordinator' | 'process'>) => Promise<unknown>;
}

/** Sends a command in the name of a caller. The signal ends a call that waits. */
type Send = (coordinator: Coordinator, caller: Caller, ended: () => AbortSignal) => Promise<unknown>;

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
  private credential: Credential;
  private credentials_made = 1;

  constructor(
    private readonly scope: ProjectKey,
    readonly actor: string,
    private readonly caller: Caller,
    private readonly credentials: Credentials,
  ) {
    this.credential = new Credential(caller);
  }

  get currentCredential(): Credential {
    return this.credential;
  }

  /** From now on with a new credential: the one before is revoked. */
  authenticateAgain(): void {
    this.credentials_made += 1;
    const principal = `${this.caller.principal}-${this.credentials_made}`;
    this.credential = new Credential({ ...this.caller, principal });
  }

  claim(wish: ClaimWish): Command {
    const request_id = this.newId();
    const body = { ...wish, agent_id: this.actor, request_id };
    return this.command(
      'claim',
      { request_id, subject: wish.task_id, remembered: true },
      (coordinator, caller) => coordinator.claimTask(this.scope, body, caller),
    );
  }

  next(wish: Omit<ClaimWish, 'task_id'> & { wait_seconds: number }): Command {
    const request_id = this.newId();
    const body = { ...wish, agent_id: this.actor, request_id };
    return this.command('next', { request_id, remembered: true }, (coordinator, caller, ended) =>
      coordinator.next(this.scope, body, caller, ended()),
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
      (coordinator, caller) => coordinator.batchClaim(this.scope, { claims, mode, request_id }, caller),
    );
  }

  /** What a holder does, or somebody who still believes to be one. */
  holder(op: HolderOp, handle: SimHandle, extra: Readonly<Record<string, unknown>> = {}): Command {
    const request_id = this.newId();
    const { task_id, session_id, claim_id, generation } = handle;
    const base = { task_id, session_id, claim_id, request_id, ...extra };
    const seen = { ...base, expected_generation: generation };
    const own = { ...base, generation };
    const send: Record<HolderOp, Send> = {
      renew: (to, caller) => to.renewLease(this.scope, seen, caller),
      release: (to, caller) => to.releaseClaim(this.scope, seen, caller),
      submit: (to, caller) => to.submitResult(this.scope, own, caller),
      suspend: (to, caller) => to.suspendClaim(this.scope, seen, caller),
      resume: (to, caller) => to.resumeClaim(this.scope, seen, caller),
      note: (to, caller) => to.note(this.scope, own, caller),
    };
    const remembered = !FROM_THE_HEAD.has(op);
    return this.command(op, { request_id, subject: task_id, handle, remembered }, send[op]);
  }

  closeSession(session_id: string): Command {
    return this.command('close_session', { request_id: this.newId() }, (coordinator, caller) =>
      coordinator.sessions.close(this.scope.tenant_id, session_id, caller),
    );
  }

  operate(verb: OperatorVerb, task_id: string, body: Readonly<Record<string, unknown>>): Command {
    const request_id = this.newId();
    return this.command(verb, { request_id, subject: task_id, remembered: true }, (coordinator, caller) =>
      coordinator.operate(this.scope, task_id, verb, { ...body, request_id }, caller),
    );
  }

  review(body: Readonly<Record<string, unknown>> & { task_id: string }): Command {
    const request_id = this.newId();
    return this.command(
      'review',
      { request_id, subject: body.task_id, remembered: true },
      (coordinator, caller) => coordinator.recordReview(this.scope, { ...body, request_id }, caller),
    );
  }

  putPlan(plan: unknown): Command {
    const request_id = this.newId();
    return this.command('put_plan', { request_id, remembered: true }, (coordinator, caller) =>
      coordinator.plans.put(this.scope, plan, { request_id }, caller),
    );
  }

  addTasks(tasks: unknown): Command {
    const request_id = this.newId();
    return this.command('add_tasks', { request_id, remembered: true }, (coordinator, caller) =>
      coordinator.plans.add(this.scope, tasks, { request_id }, caller),
    );
  }

  putPolicy(policy: Readonly<Record<string, unknown>>): Command {
    const request_id = this.newId();
    return this.command('put_policy', { request_id, remembered: true }, (coordinator, caller) =>
      coordinator.settings.putPolicy(this.scope, { ...policy, request_id }, caller),
    );
  }

  /** One round of the sweeper, as an operator may ask for it. */
  sweep(): Command {
    return this.command('sweep', { request_id: this.newId() }, async (coordinator) => ({
      success: true,
      swept: await coordinator.sweep(),
    }));
  }

  private command(op: string, parts: Pick<Command, 'request_id'> & Partial<Command>, send: Send): Command {
    const { credential } = this;
    this.credentials.use(parts.request_ids ?? [parts.request_id], credential);
    return {
      op,
      scope: this.scope,
      request_ids: [parts.request_id],
      subject: null,
      handle: null,
      remembered: false,
      credential,
      send: ({ coordinator, process }) =>
        send(coordinator, credential.callerAt(process), () => credential.signalAt(process)),
      ...parts,
    };
  }

  private newId(): string {
    this.count += 1;
    return `${this.scope.tenant_id}.${this.actor}.${this.count}`;
  }
}
