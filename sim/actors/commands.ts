import type { Caller, Coordinator } from '../../src/coordinator/index.js';
import type { AppendBody } from '../../src/core/contract/events.js';
import { isRunConclusion } from '../../src/core/engine/run-events.js';
import { isRunEvent } from '../../src/core/engine/run-summaries.js';
import type { ProjectKey } from '../../src/stores/store.js';
import type { CoordinatorInstance } from '../fleet/coordinator-instance.js';
import { type CredentialRegistry, SimCredential } from './credential.js';

/** A grant as the agent remembers it. */
export interface SimHandle {
  readonly task_id: string;
  readonly generation: number;
  readonly session_id: string;
  readonly claim_id: string;
  /** Id of the request that was granted; null if the agent had lost the handle and got it again with `resume`. */
  readonly grant_request_id: string | null;
  /** Incarnation of the store when a coordinator gave this handle. */
  readonly incarnation: number;
}

/** One command, which may be sent several times. */
export interface SimCommand {
  readonly op: string;
  readonly projectKey: ProjectKey;
  readonly request_id: string;
  /** Request ids of its effects in the log; a batch has one for each of its claims. */
  readonly request_ids: readonly string[];
  readonly subject: string | null;
  readonly handle: SimHandle | null;
  /** Whether the store remembers the request, so that a retry gets the first reply again. */
  readonly isDeduplicated: boolean;
  /** Id of the event that the command appends, if its sender chose one. The store remembers it. */
  readonly event_id?: string | undefined;
  /** Whether the command appends an event that only records how a run ends. */
  readonly concludes_run?: boolean;
  /**
   * Whether the command appends an event that any agent may report while the subject is not held. Its handle is then ignored.
   */
  readonly is_open_report?: boolean;
  readonly credential: SimCredential;
  readonly send: (instance: Pick<CoordinatorInstance, 'coordinator' | 'process'>) => Promise<unknown>;
}

/** Sends a command on behalf of a caller. The signal ends a call that waits. */
type SendToCoordinator = (
  coordinator: Coordinator,
  caller: Caller,
  waitSignal: () => AbortSignal,
) => Promise<unknown>;

type HolderOp = 'renew' | 'release' | 'submit' | 'suspend' | 'resume' | 'note';
/**
 * Operations whose requests the store does not remember. The head shows that a release or a submission has been done, and a
 * repeated renewal only extends the lease again.
 */
const HEAD_IDEMPOTENT_OPS: ReadonlySet<HolderOp> = new Set(['renew', 'release', 'submit']);

type SimOperatorVerb = Parameters<Coordinator['decisions']['operate']>[2];

export interface SimClaimRequest {
  readonly task_id: string;
  readonly session_id: string;
  readonly lease_duration_seconds: number;
  readonly resume?: boolean;
  readonly agent_role?: string;
}

/** Builds the commands of one actor, each with its own request id. */
export class CommandFactory {
  private count = 0;
  private credential: SimCredential;
  private credentialsMade = 1;

  constructor(
    private readonly projectKey: ProjectKey,
    readonly actor: string,
    private readonly caller: Caller,
    private readonly credentials: CredentialRegistry,
  ) {
    this.credential = new SimCredential(caller);
  }

  get currentCredential(): SimCredential {
    return this.credential;
  }

  /** Switches to a new credential, after the previous one was revoked. */
  replaceCredential(): void {
    this.credentialsMade += 1;
    const principal = `${this.caller.principal}-${this.credentialsMade}`;
    this.credential = new SimCredential({ ...this.caller, principal });
  }

  claim(request: SimClaimRequest): SimCommand {
    const request_id = this.newId();
    const body = { ...request, agent_id: this.actor, request_id };
    return this.command(
      'claim',
      { request_id, subject: request.task_id, isDeduplicated: true },
      (coordinator, caller) => coordinator.claims.claimTask(this.projectKey, body, caller),
    );
  }

  next(request: Omit<SimClaimRequest, 'task_id'> & { wait_seconds: number }): SimCommand {
    const request_id = this.newId();
    const body = { ...request, agent_id: this.actor, request_id };
    return this.command('next', { request_id, isDeduplicated: true }, (coordinator, caller, waitSignal) =>
      coordinator.claims.next(this.projectKey, body, caller, waitSignal()),
    );
  }

  batch(requests: readonly SimClaimRequest[], mode: 'partial' | 'all_or_nothing'): SimCommand {
    const request_id = this.newId();
    const claims = requests.map((request, index) => ({
      ...request,
      agent_id: this.actor,
      request_id: `${request_id}.${index}`,
    }));
    const request_ids = claims.map((claim) => claim.request_id);
    return this.command(
      mode === 'partial' ? 'batch' : 'atomic',
      { request_id, request_ids, isDeduplicated: mode === 'all_or_nothing' },
      (coordinator, caller) =>
        coordinator.claims.batchClaim(this.projectKey, { claims, mode, request_id }, caller),
    );
  }

  /** A command that shows a handle, whether or not the handle is still valid. */
  holderCommand(op: HolderOp, handle: SimHandle, extra: Readonly<Record<string, unknown>> = {}): SimCommand {
    const request_id = this.newId();
    const { task_id, session_id, claim_id, generation } = handle;
    const base = { task_id, session_id, claim_id, request_id, ...extra };
    const withExpected = { ...base, expected_generation: generation };
    const withGeneration = { ...base, generation };
    const send: Record<HolderOp, SendToCoordinator> = {
      renew: (to, caller) => to.holder.renewLease(this.projectKey, withExpected, caller),
      release: (to, caller) => to.holder.releaseClaim(this.projectKey, withExpected, caller),
      submit: (to, caller) => to.holder.submitResult(this.projectKey, withGeneration, caller),
      suspend: (to, caller) => to.holder.suspendClaim(this.projectKey, withExpected, caller),
      resume: (to, caller) => to.holder.resumeClaim(this.projectKey, withExpected, caller),
      note: (to, caller) => to.holder.note(this.projectKey, withGeneration, caller),
    };
    const isDeduplicated = !HEAD_IDEMPOTENT_OPS.has(op);
    return this.command(op, { request_id, subject: task_id, handle, isDeduplicated }, send[op]);
  }

  /** Appends an event that an executor reports, with or without the handle of its claim. */
  append(body: Readonly<Record<string, unknown>>, handle: SimHandle | null): SimCommand {
    const fields = body as { task_id?: string; request_id?: string; event_id?: string };
    const { task_id: subject = null, request_id: ownRequestId, event_id } = fields;
    const request_id =
      ownRequestId === undefined ? this.newId() : `${this.projectKey.tenant_id}.${ownRequestId}`;
    const event = body as unknown as AppendBody;
    const concludes_run = isRunConclusion(event);
    const is_open_report = !isRunEvent(event.event_type);
    return this.command(
      'append',
      { request_id, subject, handle, event_id, concludes_run, is_open_report },
      (coordinator, caller) =>
        coordinator.holder.appendEvent(this.projectKey, { ...body, request_id }, caller),
    );
  }

  /** Reads a page of a subject's events. */
  events(subject: string, after: string, limit: number): SimCommand {
    return this.command('events', { request_id: this.newId() }, (coordinator) =>
      coordinator.feed.page(this.projectKey, { task_id: subject, after, limit }),
    );
  }

  configure(files: Readonly<Record<string, string>>): SimCommand {
    const request_id = this.newId();
    return this.command('configure', { request_id, isDeduplicated: true }, (coordinator, caller) =>
      coordinator.settings.configure(this.projectKey, { files, request_id }, caller),
    );
  }

  closeSession(sessionId: string): SimCommand {
    return this.command('close_session', { request_id: this.newId() }, (coordinator, caller) =>
      coordinator.sessions.close(this.projectKey.tenant_id, sessionId, caller),
    );
  }

  operate(verb: SimOperatorVerb, taskId: string, body: Readonly<Record<string, unknown>>): SimCommand {
    const request_id = this.newId();
    return this.command(verb, { request_id, subject: taskId, isDeduplicated: true }, (coordinator, caller) =>
      coordinator.decisions.operate(this.projectKey, taskId, verb, { ...body, request_id }, caller),
    );
  }

  review(body: Readonly<Record<string, unknown>> & { task_id: string }): SimCommand {
    const request_id = this.newId();
    return this.command(
      'review',
      { request_id, subject: body.task_id, isDeduplicated: true },
      (coordinator, caller) =>
        coordinator.decisions.recordReview(this.projectKey, { ...body, request_id }, caller),
    );
  }

  putPlan(plan: unknown): SimCommand {
    const request_id = this.newId();
    return this.command('put_plan', { request_id, isDeduplicated: true }, (coordinator, caller) =>
      coordinator.plans.put(this.projectKey, plan, { request_id }, caller),
    );
  }

  addTasks(tasks: unknown): SimCommand {
    const request_id = this.newId();
    return this.command('add_tasks', { request_id, isDeduplicated: true }, (coordinator, caller) =>
      coordinator.plans.add(this.projectKey, tasks, { request_id }, caller),
    );
  }

  putPolicy(policy: Readonly<Record<string, unknown>>): SimCommand {
    const request_id = this.newId();
    return this.command('put_policy', { request_id, isDeduplicated: true }, (coordinator, caller) =>
      coordinator.settings.putPolicy(this.projectKey, { ...policy, request_id }, caller),
    );
  }

  /** One round of the sweeper, in addition to those of its timer. */
  sweep(): SimCommand {
    return this.command('sweep', { request_id: this.newId() }, async (coordinator) => ({
      success: true,
      swept: await coordinator.sweep(),
    }));
  }

  private command(
    op: string,
    parts: Pick<SimCommand, 'request_id'> & Partial<SimCommand>,
    send: SendToCoordinator,
  ): SimCommand {
    const { credential } = this;
    this.credentials.register(parts.request_ids ?? [parts.request_id], credential);
    return {
      op,
      projectKey: this.projectKey,
      request_ids: [parts.request_id],
      subject: null,
      handle: null,
      isDeduplicated: false,
      credential,
      send: ({ coordinator, process }) =>
        send(coordinator, credential.callerAt(process), () => credential.signalAt(process)),
      ...parts,
    };
  }

  private newId(): string {
    this.count += 1;
    return `${this.projectKey.tenant_id}.${this.actor}.${this.count}`;
  }
}
