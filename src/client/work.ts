import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Delivery } from './delivery.js';
import { newRequestId, pauseAfter } from './http.js';
import { monotonicMs } from './lease-cell.js';
import { LeaseProposals } from './lease-proposals.js';
import type { Hold } from './renewals.js';
import { GenesisError, isProblem } from './replies.js';
import { sharedSignal } from './shared-signal.js';
import { type Grant, type Taken, Taking } from './taking.js';
import type { Handler, Tools, Work, WorkContext, WorkOptions, WorkSummary } from './work-options.js';

const GRACE_MS = 5000;
const MESSAGE_CHARS_MAX = 2000;

/** An agent's loop: take work, keep it while it is done, hand in what came of it. */
export class Worker {
  readonly agent_id: string;
  readonly session_id: string;
  private readonly own_session: boolean;
  private readonly proposals: LeaseProposals;
  private readonly stopping = new AbortController();
  private readonly counts = { failed: 0, lost: 0, released: 0 };
  private readonly delivery: Delivery;
  private readonly taking: Taking;
  private takes_more = true;

  constructor(
    private readonly tools: Tools,
    private readonly options: WorkOptions,
    private readonly handler: Handler,
  ) {
    const { GENESIS_AGENT, GENESIS_SESSION } = process.env;
    const agent_id = options.agent_id ?? GENESIS_AGENT;
    if (agent_id === undefined) throw new TypeError('expected agent_id or GENESIS_AGENT');
    const session_id = options.session_id ?? GENESIS_SESSION;
    this.agent_id = agent_id;
    this.own_session = session_id === undefined;
    this.session_id = session_id ?? `sess-${randomUUID()}`;
    this.proposals = new LeaseProposals(tools.calls);
    const who = { agent_id, session_id: this.session_id };
    this.taking = new Taking(tools, options, who, this.proposals);
    this.delivery = new Delivery(tools.outbox, tools.submit, () => this.stopped);
  }

  async run(): Promise<WorkSummary> {
    const { signal, concurrency = 1 } = this.options;
    const stop = () => this.stopping.abort();
    sharedSignal(this.stopping.signal);
    sharedSignal(signal)?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    try {
      await this.delivery.flush();
      await this.openSession();
      const slots = Array.from({ length: concurrency }, () => this.slot());
      await Promise.all(slots.map((slot) => slot.catch((error) => this.failWith(error))));
      await this.delivery.flush();
      const pending = await this.delivery.pending();
      if (this.own_session && pending === 0) await this.tools.calls.closeSession(this.session_id);
      if (this.failure !== undefined) throw this.failure;
      return this.summary(pending);
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  /** The first claim would open it too, but without the key that its signatures are checked by. */
  private async openSession(): Promise<void> {
    const { calls } = this.tools;
    const { public_key } = calls;
    if (!this.own_session || public_key === null) return;
    const opened = await calls.openSession({ session_id: this.session_id, public_key });
    if (isProblem(opened)) throw new GenesisError(opened);
  }

  private failure: unknown;
  /** One slot that cannot go on stops the others, which still hand in and give back what they have. */
  private failWith(error: unknown): void {
    this.failure ??= error;
    this.stopping.abort();
  }

  private get stopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async slot(): Promise<void> {
    let waits = false;
    for (let idle = 0; this.takes_more && !this.stopped; ) {
      await this.delivery.catchUp();
      const has_room = await this.delivery.hasRoom();
      const grant: Taken = has_room ? await this.taking.take(waits) : 'later';
      // Asked without waiting first: whether all is done is known at once.
      waits = grant === 'nothing';
      if (grant === 'done') return;
      if (grant === 'later') {
        idle += 1;
        await sleep(pauseAfter(idle), undefined, { signal: this.stopping.signal }).catch(() => {});
        continue;
      }
      idle = 0;
      if (grant !== 'nothing') await this.perform(grant);
    }
  }

  private async perform({ work, track, hold }: Grant): Promise<void> {
    const started_ms = monotonicMs();
    try {
      const ended = await this.handle(work, hold);
      if ('result' in ended) {
        const accepted = await this.deliver(work, hold, ended.result);
        if (accepted) await this.proposals.learn(track, monotonicMs() - started_ms);
      } else await this.giveBack(work, hold, ended.error);
    } finally {
      hold.end();
    }
  }

  /** The handler's result, or why there is none. A handler that does not heed a stop is left behind. */
  private async handle(work: Work, hold: Hold): Promise<{ result: unknown } | { error: unknown }> {
    const telling = new AbortController();
    const stop = () => telling.abort(new Error('the work is stopped'));
    const lose = () => telling.abort(hold.signal.reason);
    this.stopping.signal.addEventListener('abort', stop);
    hold.signal.addEventListener('abort', lose);
    if (hold.signal.aborted) lose();
    if (this.stopped) stop();
    const over = new AbortController();
    try {
      if (telling.signal.aborted) return { error: telling.signal.reason };
      const context = this.contextFor(work, hold, telling.signal);
      return await Promise.race([this.resultOf(work, context), this.graceOver(over.signal)]);
    } catch (error) {
      return { error };
    } finally {
      over.abort();
      this.stopping.signal.removeEventListener('abort', stop);
      hold.signal.removeEventListener('abort', lose);
    }
  }

  /** As JSON has it: a result that is no data is the handler's error. */
  private async resultOf(work: Work, context: WorkContext): Promise<{ result: unknown }> {
    const result = await this.handler(work, context);
    return { result: JSON.stringify(result) === undefined ? null : result };
  }

  private graceOver(over: AbortSignal): Promise<{ error: unknown }> {
    return new Promise((resolve) => {
      const wait = () => {
        const timer = setTimeout(() => resolve({ error: new Error('the work is stopped') }), GRACE_MS);
        over.addEventListener('abort', () => clearTimeout(timer));
      };
      if (this.stopped) wait();
      else this.stopping.signal.addEventListener('abort', wait, { once: true });
      over.addEventListener('abort', () => this.stopping.signal.removeEventListener('abort', wait));
    });
  }

  private contextFor({ claim }: Work, hold: Hold, signal: AbortSignal): WorkContext {
    const { task_id, session_id, generation, id: claim_id } = claim;
    return {
      signal,
      held: () => hold.held(),
      note: (text) => this.tools.calls.note({ task_id, session_id, generation, claim_id, text }),
      stop: () => {
        this.takes_more = false;
      },
    };
  }

  private deliver({ claim }: Work, hold: Hold, result: unknown): Promise<boolean> {
    const { task_id, session_id, generation, id: claim_id } = claim;
    const { agent_id } = this;
    const finished_at = new Date().toISOString();
    const handle = { task_id, session_id, claim_id, generation };
    const finished = { request_id: newRequestId(), ...handle, agent_id, result_data: result, finished_at };
    return this.delivery.deliver(finished, hold);
  }

  private async giveBack({ claim }: Work, hold: Hold, error: unknown): Promise<void> {
    const { task_id, session_id, generation, id: claim_id } = claim;
    const handle = { task_id, session_id, expected_generation: generation, claim_id };
    const isLost = hold.signal.aborted;
    if (isLost) this.counts.lost += 1;
    else if (this.stopped) this.counts.released += 1;
    else this.counts.failed += 1;
    hold.end();
    const message = (error instanceof Error ? error.message : String(error)).slice(0, MESSAGE_CHARS_MAX);
    const isError = !isLost && !this.stopped;
    // What may be lost is given back as well: if it is, the server says so, and nothing happens.
    await this.tools.calls.releaseClaim(
      isError ? { ...handle, reason: 'ERROR', message: message || 'no message' } : handle,
    );
  }

  private summary(pending: number): WorkSummary {
    const { outcomes } = this.delivery;
    const accepted = outcomes.filter((outcome) => outcome.accepted).length;
    const refused = outcomes.length - accepted;
    return { accepted, refused, ...this.counts, pending, outcomes };
  }
}
