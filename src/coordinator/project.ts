import type { Limits } from '../core/claims/policy.js';
import { absorb, emptyWork, learnHead, type WorkState } from '../core/views/index.js';
import {
  type Outcome,
  type ProjectKey,
  type Store,
  StoreBroken,
  type StoreMeta,
  type Unit,
} from '../stores/store.js';
import type { Backoff } from './backoff.js';
import { type Caller, isStillAuthorized, OPEN_CALLER } from './caller.js';
import { Desk, type DeskSource, Trial } from './desk.js';
import type { Environment } from './environment.js';
import { claimKeyOf } from './identity.js';
import { inSlices } from './in-slices.js';
import type { Attempt, Operation } from './operation.js';
import { isProblem, noLongerAuthorized, type Problem, problem } from './problem.js';
import { eventsAt, readOn, readWork } from './read-work.js';
import { limitOfScope, SESSIONS_SCOPE } from './rooms.js';
import { Signal } from './signal.js';
import { storeProblem } from './store-problem.js';
import type { StoreTime } from './store-time.js';
import type { Witness } from './witness.js';

/** Small enough that the next batch is decided while this one is at the disk; a store writes them together anyway. */
const BATCH_MAX = 256;
const QUEUE_MAX = 100_000;
/** An operation that keeps meeting others on its subject gives up, honestly, before it spins for ever. */
const TRIES_MAX = 100;

export interface ProjectServices {
  readonly store: Store;
  readonly meta: StoreMeta;
  readonly environment: Environment;
  readonly time: StoreTime;
  /** Of the store, shared by all its projects. */
  readonly backoff: Backoff;
  readonly limits: () => Limits;
  readonly skew_margin_ms: number;
  readonly witness: Witness;
}

interface Job {
  readonly operation: Operation<unknown>;
  readonly caller: Caller;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (bug: unknown) => void;
  tries: number;
  full: string | null;
}

/**
 * One project at work. Commands queue here; a batch is decided in turn, committed in one store call, and
 * answered when that call returns. Where nobody else writes, the next batches are decided and sent after it, on what
 * those before them are about to do: the store keeps their order. No timer, so a lone command waits for nobody, and a
 * thousand share one fsync.
 */
export class Project implements DeskSource {
  readonly state: WorkState = emptyWork();
  rules_seq = 0;
  /** Until when each session counts as active, as far as this coordinator has told the store. */
  readonly session_until = new Map<string, number>();
  /** Fires whenever the project has moved. */
  readonly moved = new Signal();
  private queue: Job[] = [];
  private busy = false;
  private readonly trial = new Trial();
  /** For each batch under way, the subjects that its commands would change. */
  private readonly changing = new Set<Set<string>>();
  /** Batches at the store, the first sent first. They end in that order. */
  private readonly under_way: Promise<void>[] = [];
  private following: Promise<void> | null = null;
  private surveying: Promise<void> | null = null;

  readonly claim_key: string;

  private constructor(
    readonly key: ProjectKey,
    private readonly services: ProjectServices,
  ) {
    this.claim_key = claimKeyOf(services.meta, key);
  }

  static async load(key: ProjectKey, services: ProjectServices): Promise<Project> {
    const project = new Project(key, services);
    await project.load();
    return project;
  }

  get limits(): Limits {
    return this.services.limits();
  }
  get environment(): Environment {
    return this.services.environment;
  }
  get skew_margin_ms(): number {
    return this.services.skew_margin_ms;
  }

  get store(): Store {
    return this.services.store;
  }
  get meta(): StoreMeta {
    return this.services.meta;
  }
  get hasOtherWriters(): boolean {
    return !this.services.store.capabilities.single_writer;
  }

  get backoff(): Backoff {
    return this.services.backoff;
  }

  /** The store's time, as far as this coordinator knows it. */
  now(): number {
    return this.services.time.now();
  }

  desk(): Desk {
    return new Desk(this, this.now());
  }

  /**
   * Resolves with the operation's reply, or with the problem that kept it from one. It waits in a queue, so the caller is
   * asked for its authorization again when it is decided. The coordinator's own operations have no caller.
   */
  run<Reply>(operation: Operation<Reply>, caller: Caller = OPEN_CALLER): Promise<Reply | Problem> {
    if (this.queue.length >= QUEUE_MAX) {
      return Promise.resolve(problem('UNAVAILABLE', 'Too many commands are waiting. Try again in a moment.'));
    }
    return new Promise((resolve, reject) => {
      this.queue.push({
        operation: operation as Operation<unknown>,
        caller,
        resolve: resolve as (reply: unknown) => void,
        reject,
        tries: 0,
        full: null,
      });
      if (!this.busy) void this.work();
    });
  }

  /** Reads what others have committed. Cheap where this coordinator is the only writer: nothing is ever there. */
  follow(): Promise<void> {
    this.following ??= this.catchUp().finally(() => {
      this.following = null;
    });
    return this.following;
  }

  /** Surveys the work after a change of the plan, a slice at a time. Whoever needs a later one than this asks again. */
  survey(): Promise<void> {
    this.surveying ??= inSlices(this.state.frontier.survey(this.state), this.environment).finally(() => {
      this.surveying = null;
    });
    return this.surveying;
  }

  settled(): Promise<void> {
    return this.under_way.at(-1) ?? Promise.resolve();
  }

  private async work(): Promise<void> {
    this.busy = true;
    await this.environment.breathe();
    const { commits_at_once } = this.services.store.capabilities;
    while (this.queue.length > 0) {
      if (this.under_way.length < commits_at_once) this.send(this.queue.splice(0, BATCH_MAX));
      else await this.under_way[0];
      // Whoever has been answered asks again, and that should share the next batch.
      await this.environment.breathe();
    }
    this.busy = false;
  }

  private send(batch: Job[]): void {
    const sent = this.flush(batch, this.settled()).then(() => {
      this.under_way.shift();
      if (!this.busy && this.queue.length > 0) void this.work();
    });
    this.under_way.push(sent);
  }

  private async flush(batch: Job[], before: Promise<void>): Promise<void> {
    const desk = new Desk(this, this.now(), this.trial);
    const changing = new Set<string>();
    this.changing.add(changing);
    const { jobs, attempts } = this.decideAll(desk, batch, changing);
    const outcomes = jobs.length === 0 ? [] : await this.commit(attempts);
    await before;
    desk.clear();
    this.changing.delete(changing);
    if (isProblem(outcomes)) for (const job of jobs) this.answer(job, outcomes);
    else await this.settleAll(jobs, attempts, outcomes);
  }

  private answer(job: Job, reply: unknown): void {
    this.services.witness.answered(this.key, job.operation.kind, reply);
    job.resolve(reply);
  }

  private async commit(attempts: readonly Attempt<unknown>[]): Promise<Outcome[] | Problem> {
    const { store, witness, environment } = this.services;
    const asked_ms = environment.clock.monotonicMs();
    try {
      const outcomes = await store.commit(attempts.map((attempt) => attempt.unit));
      this.backoff.succeeded();
      witness.flushed(attempts.length, environment.clock.monotonicMs() - asked_ms);
      return outcomes;
    } catch (error) {
      return failed(error);
    }
  }

  private decideAll(
    desk: Desk,
    batch: Job[],
    changing: Set<string>,
  ): { jobs: Job[]; attempts: Attempt<unknown>[] } {
    const jobs: Job[] = [];
    const attempts: Attempt<unknown>[] = [];
    for (const job of batch) {
      if (!isStillAuthorized(job.caller)) {
        this.answer(job, noLongerAuthorized());
        continue;
      }
      // Said of one attempt only: whoever is decided again asks the store again.
      desk.begin(job.full);
      job.full = null;
      try {
        const attempt = job.operation.attempt(desk);
        if ('needs' in attempt) this.fetchFor(job, attempt.needs);
        else if (this.standsOnTrial(attempt.unit, changing)) this.queue.push(job);
        else {
          jobs.push(job);
          attempts.push(attempt);
        }
      } catch (bug) {
        // A bug in one command must not take its neighbours down.
        job.reject(bug);
      }
    }
    return { jobs, attempts };
  }

  /**
   * Where others write too, a unit must not stand on a head that an earlier one is about to make: if that one is
   * refused, another's head may have the same seq, and the store could not tell them apart.
   */
  private standsOnTrial({ swaps, checks }: Unit, changing: Set<string>): boolean {
    if (this.services.store.capabilities.single_writer) return false;
    const isChanging = ({ subject }: { subject: string }) => {
      for (const subjects of this.changing) if (subjects.has(subject)) return true;
      return false;
    };
    const stands = swaps.some(isChanging) || checks.some(isChanging);
    // Also of a unit that has to wait: what it tried stays on trial until its batch has ended.
    for (const { subject } of swaps) changing.add(subject);
    return stands;
  }

  private fetchFor(job: Job, needs: () => Promise<void>): void {
    job.tries += 1;
    if (job.tries > TRIES_MAX) this.answer(job, contended());
    else {
      needs().then(
        () => this.again([job]),
        (error) => this.answer(job, failed(error)),
      );
    }
  }

  private again(jobs: readonly Job[]): void {
    this.queue.unshift(...jobs);
    if (!this.busy) void this.work();
  }

  private async settleAll(jobs: Job[], attempts: Attempt<unknown>[], outcomes: Outcome[]): Promise<void> {
    const retry: Job[] = [];
    let behind = false;
    let moved = false;
    for (let index = 0; index < outcomes.length; index += 1) {
      const outcome = outcomes[index]!;
      const job = jobs[index]!;
      const attempt = attempts[index]!;
      switch (outcome.kind) {
        case 'committed':
          behind = this.committed(attempt.unit, outcome) || behind;
          moved = moved || outcome.positions.length > 0;
          this.services.witness.committed(this.key, attempt.unit);
          this.answer(job, attempt.reply);
          break;
        case 'replay':
          void this.answerReplay(job, outcome);
          break;
        case 'conflict':
          behind = this.learn(outcome) || behind;
          this.tryAgain(job, retry);
          break;
        case 'full':
          job.full = limitOfScope(outcome.scope);
          this.tryAgain(job, retry);
          break;
        default:
          this.tryAgain(job, retry);
      }
    }
    const latest = outcomes.at(-1);
    if (latest !== undefined) this.services.time.tell(latest.now_ms);
    if (behind) await this.catchUpFor(retry);
    if (moved) this.moved.fire();
    this.queue.unshift(...retry);
  }

  /** What was committed is told already; who must decide anew cannot do so on a view that is known to be old. */
  private async catchUpFor(retry: Job[]): Promise<void> {
    try {
      await this.follow();
    } catch (error) {
      const failure = failed(error);
      for (const job of retry.splice(0)) this.answer(job, failure);
    }
  }

  private tryAgain(job: Job, retry: Job[]): void {
    job.tries += 1;
    if (job.tries > TRIES_MAX) this.answer(job, contended());
    else retry.push(job);
  }

  /** Takes a commit into the view; true when others have committed in between. */
  private committed(unit: Unit, outcome: Outcome & { kind: 'committed' }): boolean {
    this.rules_seq = Math.max(this.rules_seq, outcome.rules_seq);
    for (const slot of unit.slots) {
      if (slot.scope !== SESSIONS_SCOPE) continue;
      if (slot.until_ms === null) this.session_until.delete(slot.member);
      else this.session_until.set(slot.member, slot.until_ms);
    }
    return absorb(this.state, unit, outcome.positions);
  }

  private learn(outcome: Outcome & { kind: 'conflict' }): boolean {
    for (const { head } of outcome.heads) if (head !== null) learnHead(this.state, head);
    return outcome.rules_seq !== this.rules_seq;
  }

  private async answerReplay(job: Job, outcome: Outcome & { kind: 'replay' }): Promise<void> {
    const { request } = outcome;
    if (request.digest !== job.operation.request?.digest) {
      const detail =
        'This request_id was used before with another body. Use a new request_id for a new command.';
      return this.answer(job, problem('IDEMPOTENCY_CONFLICT', detail));
    }
    try {
      const events = await eventsAt(this, request.positions);
      this.answer(job, request.reply ?? job.operation.replay(events, this.desk()));
    } catch (error) {
      this.answer(job, failed(error));
    }
  }

  private async catchUp(): Promise<void> {
    for (;;) {
      const row = await this.store.project(this.key);
      if (row === null) return;
      // The rules are read after the events that changed them, so what is decided under a number has seen them.
      if (row.position > this.state.position) {
        await readOn(this, this.state, row.position);
        this.moved.fire();
      }
      this.rules_seq = Math.max(this.rules_seq, row.rules_seq);
      if (row.position === this.state.position) return;
    }
  }

  private async load(): Promise<void> {
    this.services.time.tell(await this.store.now());
    const rules_seq = await readWork(this, this.state);
    if (rules_seq === null) return;
    this.rules_seq = rules_seq;
    await this.follow();
  }
}

const contended = (): Problem =>
  problem('UNAVAILABLE', 'Too many others change the same work at once. Nothing happened; try again.');

function failed(error: unknown): Problem {
  return (
    storeProblem(error) ??
    problem('UNKNOWN', `It may have happened; retry with the same request_id: ${uncertainty(error)}`)
  );
}

/** What a broken store says of itself names files of this machine: that is for its operator. */
function uncertainty(error: unknown): string {
  if (error instanceof StoreBroken) return 'the store has stopped, and its operator has to start it again.';
  return error instanceof Error ? error.message : String(error);
}
