import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Briefing } from '../coordinator/wire.js';
import type { Calls } from './calls.js';
import { newRequestId, pauseAfter } from './http.js';
import { monotonicMs } from './lease-cell.js';
import { LeaseProposals } from './lease-proposals.js';
import { type Finished, type Outbox, PENDING_MAX, type Submit, type SubmitOutcome } from './outbox.js';
import type { Hold, Renewals } from './renewals.js';
import {
  type ClaimRefused,
  GenesisError,
  type HeldClaim,
  isProblem,
  type NoteReply,
  type Problem,
} from './replies.js';

export interface WorkOptions {
  /** GENESIS_AGENT. */
  readonly agent_id?: string;
  /** GENESIS_SESSION, else one of its own, closed at the end. */
  readonly session_id?: string;
  /** Left out: work of any track. */
  readonly tracks?: readonly string[];
  readonly agent_role?: string;
  /** Left out: proposed from what the track's work took before. */
  readonly lease_duration_seconds?: number;
  /** Pieces worked on at a time. */
  readonly concurrency?: number;
  /** `done` (default): until all work of the tracks is complete. `stopped`: until the signal. */
  readonly until?: 'done' | 'stopped';
  /** Stops it: handlers are told, what they hold is released, what they finished is submitted. */
  readonly signal?: AbortSignal;
}

export interface Work {
  readonly task_id: string;
  readonly claim: HeldClaim;
  readonly briefing: Briefing | null;
}

export interface WorkContext {
  /** Aborts the moment the claim is lost or may be (ClaimLost), and when the work is stopped. */
  readonly signal: AbortSignal;
  /** Whether the claim is surely ours now: right also within a long turn, where no signal is heard. */
  readonly held: () => boolean;
  readonly note: (text: string) => Promise<NoteReply | Problem>;
  /** No work after this one. */
  readonly stop: () => void;
}

export type Handler = (work: Work, context: WorkContext) => Promise<unknown>;

export interface WorkSummary {
  /** Results that the server took, also those that an earlier run had finished. */
  readonly accepted: number;
  readonly refused: number;
  /** Handlers that threw while they held the claim. */
  readonly failed: number;
  /** Claims lost before there was a result. */
  readonly lost: number;
  /** Given back because the work was stopped. */
  readonly released: number;
  /** Finished and not answered yet: in the outbox, for the next start. */
  readonly pending: number;
  readonly outcomes: readonly SubmitOutcome[];
}

export interface Tools {
  readonly calls: Calls;
  readonly outbox: Outbox;
  readonly renewals: Renewals;
  readonly submit: Submit;
}

interface Grant {
  readonly work: Work;
  readonly track: string | undefined;
  readonly hold: Hold;
}

/** How long a poll waits: a stop is heard after at most so long, and no grant is ever left unheard. */
const WAIT_SECONDS = 5;
const WAIT_SECONDS_TRACKS = 1;
const GRACE_MS = 5000;
/** A grant that took longer to come than this part of its lease is renewed at once, to know its end. */
const LONG_AGO = 0.1;
const MESSAGE_CHARS_MAX = 2000;

/** An agent's loop: take work, keep it while it is done, hand in what came of it. */
export class Worker {
  readonly agent_id: string;
  readonly session_id: string;
  private readonly own_session: boolean;
  private readonly proposals: LeaseProposals;
  private readonly stopping = new AbortController();
  private readonly counts = { failed: 0, lost: 0, released: 0 };
  private readonly outcomes: SubmitOutcome[] = [];
  private turn = 0;

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
  }

  async run(): Promise<WorkSummary> {
    const { signal, concurrency = 1 } = this.options;
    const stop = () => this.stopping.abort();
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    try {
      await this.flush();
      const slots = Array.from({ length: concurrency }, () => this.slot());
      await Promise.all(slots.map((slot) => slot.catch((error) => this.failWith(error))));
      await this.flush();
      const pending = await this.tools.outbox.pending();
      if (this.own_session && pending === 0) await this.tools.calls.closeSession(this.session_id);
      if (this.failure !== undefined) throw this.failure;
      return this.summary(pending);
    } finally {
      signal?.removeEventListener('abort', stop);
    }
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
    for (let idle = 0; !this.stopped; ) {
      const grant = (await this.tools.outbox.pending()) < PENDING_MAX ? await this.take() : 'later';
      if (grant === 'done') return;
      if (grant === 'later') {
        idle += 1;
        await sleep(pauseAfter(idle), undefined, { signal: this.stopping.signal }).catch(() => {});
        await this.flush();
        continue;
      }
      idle = 0;
      if (grant !== 'nothing') await this.perform(grant);
    }
  }

  private async take(): Promise<Grant | 'nothing' | 'later' | 'done'> {
    const { tracks = [], agent_role } = this.options;
    const track = tracks[this.turn++ % Math.max(tracks.length, 1)];
    const lease_duration_seconds =
      this.options.lease_duration_seconds ?? (await this.proposals.proposeFor(track));
    const sent_ms = monotonicMs();
    const reply = await this.tools.calls.next({
      agent_id: this.agent_id,
      session_id: this.session_id,
      ...(track === undefined ? {} : { track }),
      ...(agent_role === undefined ? {} : { agent_role }),
      lease_duration_seconds,
      wait_seconds: tracks.length > 1 ? WAIT_SECONDS_TRACKS : WAIT_SECONDS,
    });
    if (isProblem(reply)) return this.noWork(reply);
    if (!reply.success) return this.refused(reply);
    const work = { task_id: reply.claim.task_id, claim: reply.claim, briefing: reply.briefing ?? null };
    return { work, track, hold: await this.holdFrom(reply.claim, sent_ms) };
  }

  private noWork(problem: Problem): 'later' {
    if (isPassing(problem)) return 'later';
    throw new GenesisError(problem);
  }

  private async refused({ reason, next }: ClaimRefused): Promise<'nothing' | 'later' | 'done'> {
    if (reason === 'NOTHING_READY') return (await this.isDone()) ? 'done' : 'nothing';
    if (reason === 'DENIED_LIMIT') return 'later';
    throw new GenesisError({
      code: reason,
      detail: next ?? 'No work is given to this session.',
      status: 409,
    });
  }

  private async isDone(): Promise<boolean> {
    if (this.options.until === 'stopped') return false;
    const { tracks = [undefined] } = this.options;
    for (const track of tracks) {
      const open = await this.tools.calls.tasks({ phase: 'OPEN', limit: 1, ...(track && { track }) });
      if (isProblem(open) || open.tasks.length > 0) return false;
    }
    return true;
  }

  private async holdFrom(claim: HeldClaim, sent_ms: number): Promise<Hold> {
    const { renewals, calls } = this.tools;
    const lease_seconds = claim.lease_duration_seconds;
    const again_ms = monotonicMs();
    if (again_ms - sent_ms <= lease_seconds * 1000 * LONG_AGO) return renewals.hold(claim, sent_ms);
    const { task_id, session_id, generation, id: claim_id } = claim;
    const renewed = await calls.renewAlone({
      handle: { task_id, session_id, claim_id, generation },
      lease_seconds,
      request_id: newRequestId(),
      timeout_seconds: lease_seconds / 2,
    });
    if (isProblem(renewed) || !renewed.success) return renewals.hold(claim, sent_ms);
    return renewals.hold({ ...claim, expires_at: renewed.new_expiry }, again_ms);
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
      const running = this.handler(work, context).then((result) => ({ result }));
      return await Promise.race([running, this.graceOver(over.signal)]);
    } catch (error) {
      return { error };
    } finally {
      over.abort();
      this.stopping.signal.removeEventListener('abort', stop);
      hold.signal.removeEventListener('abort', lose);
    }
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
      stop: () => this.stopping.abort(),
    };
  }

  /** Written down first. Then handed in until there is an answer, as long as the claim can be kept meanwhile. */
  private async deliver({ claim }: Work, hold: Hold, result: unknown): Promise<boolean> {
    const { outbox, submit } = this.tools;
    const { task_id, session_id, generation, id: claim_id } = claim;
    const finished: Finished = {
      request_id: newRequestId(),
      task_id,
      session_id,
      claim_id,
      generation,
      agent_id: this.agent_id,
      result_data: result ?? null,
      finished_at: new Date().toISOString(),
    };
    const path = await outbox.put(finished);
    for (let tried = 1; ; tried++) {
      const outcome = await outbox.send(path, submit);
      if (!isProblem(outcome)) {
        this.outcomes.push(outcome);
        return outcome.accepted;
      }
      if (!hold.held() || this.stopped || !isPassing(outcome)) break;
      await sleep(pauseAfter(tried));
    }
    await outbox.giveBack(path);
    return false;
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

  private async flush(): Promise<void> {
    this.outcomes.push(...(await this.tools.outbox.flush(this.tools.submit)));
  }

  private summary(pending: number): WorkSummary {
    const accepted = this.outcomes.filter((outcome) => outcome.accepted).length;
    const refused = this.outcomes.length - accepted;
    return { accepted, refused, ...this.counts, pending, outcomes: this.outcomes };
  }
}

/** No server, a busy one, or one that does not know: all of it may be otherwise in a moment. */
const isPassing = ({ status }: Problem): boolean =>
  status === 0 || status === 408 || status === 429 || status >= 500;
