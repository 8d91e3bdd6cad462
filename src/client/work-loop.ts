import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { subjectKindOf } from '../core/subject.js';
import { withoutUndefined } from '../core/without-undefined.js';
import { parseEdgeResult } from './edge-result.js';
import { EscalatedWork } from './escalated-work.js';
import { newRequestId, retryDelayMs, withoutListenerLimit } from './http.js';
import { LeaseEstimates } from './lease-estimates.js';
import { isEscalated, type SubmitOutcome } from './outbox.js';
import { ClaimLost, type LeaseMonitor } from './renewals.js';
import { handleOf, withExpectedGeneration } from './renewer.js';
import { GenesisError, isProblem } from './replies.js';
import type { CheckReports } from './requests.js';
import { ResultDelivery } from './result-delivery.js';
import { monotonicMs } from './shared-lease-end.js';
import { RELEASE_MESSAGE_CHARS_MAX } from './submit-finished.js';
import { type ClaimAttempt, type GrantedWork, WorkClaimer } from './work-claimer.js';
import type {
  EndedWork,
  Work,
  WorkContext,
  WorkHandler,
  WorkOptions,
  WorkServices,
  WorkSummary,
} from './work-options.js';
import { workerName } from './worker-name.js';

interface HandlerResult {
  readonly result: unknown;
  readonly evaluators: CheckReports | undefined;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

const STOP_GRACE_MS = 5000;

/** An agent's loop: claim work, renew it while the handler runs, deliver the result. */
export class WorkLoop {
  private readonly identity: { readonly agent_id: string; readonly session_id: string };
  private readonly isOwnSession: boolean;
  private readonly leaseEstimates: LeaseEstimates;
  private readonly stopController = new AbortController();
  private readonly counts = { failed: 0, lost: 0, released: 0 };
  private readonly delivery: ResultDelivery;
  private readonly escalated: EscalatedWork;
  private readonly claimer: WorkClaimer;
  private canClaimMore = true;
  private isDone = false;

  constructor(
    private readonly services: WorkServices,
    private readonly options: WorkOptions,
    private readonly handler: WorkHandler,
  ) {
    const { GENESIS_AGENT = workerName(process.argv[1] ?? 'node'), GENESIS_SESSION } = process.env;
    const { agent_id = GENESIS_AGENT, session_id = GENESIS_SESSION } = options;
    this.isOwnSession = session_id === undefined;
    this.identity = { agent_id, session_id: session_id ?? `sess-${randomUUID()}` };
    this.leaseEstimates = new LeaseEstimates(services.client);
    this.escalated = new EscalatedWork(services.outbox.escalated, options);
    const { identity, leaseEstimates, escalated } = this;
    this.claimer = new WorkClaimer(services, options, identity, leaseEstimates, escalated);
    this.delivery = new ResultDelivery(
      services.outbox,
      services.submit,
      () => this.isStopped,
      (outcome) => this.onAnswer(outcome),
    );
  }

  async run(): Promise<WorkSummary> {
    const { signal, concurrency = 1 } = this.options;
    const { client } = this.services;
    const stop = () => this.stopController.abort();
    withoutListenerLimit(this.stopController.signal);
    withoutListenerLimit(signal)?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    this.escalated.start();
    try {
      await this.delivery.flush();
      await this.openSession();
      const slots = Array.from({ length: concurrency }, () => this.runSlot());
      await Promise.all(slots.map((slot) => slot.catch((error) => this.failWith(error))));
      await this.delivery.flush();
      const pending = await this.delivery.pending();
      // Closing the session would release the claims that wait for a person.
      const isSessionNeeded =
        pending > 0 || (this.escalated.hasClaimOfSession(this.identity.session_id) && !this.isDone);
      if (this.isOwnSession && !isSessionNeeded) await client.closeSession(this.identity.session_id);
      if (this.failure !== undefined) throw this.failure;
      return this.summary(pending);
    } finally {
      await this.escalated.end(this.isDone);
      signal?.removeEventListener('abort', stop);
    }
  }

  /** Opens this loop's own session if there is a public key to register. Otherwise the first claim opens the session. */
  private async openSession(): Promise<void> {
    const { client } = this.services;
    const { public_key } = client;
    if (!this.isOwnSession || public_key === null) return;
    const opened = await client.openSession({ session_id: this.identity.session_id, public_key });
    if (isProblem(opened)) throw new GenesisError(opened);
  }

  private failure: unknown;
  /** A slot that cannot continue stops the other slots. They still deliver their results and release their claims. */
  private failWith(error: unknown): void {
    this.failure ??= error;
    this.stopController.abort();
  }

  private get isStopped(): boolean {
    return this.stopController.signal.aborted;
  }

  private async runSlot(): Promise<void> {
    let shouldWait = false;
    for (let retryCount = 0; this.canClaimMore && !this.isStopped; ) {
      await this.delivery.flushEarlierResults();
      const hasCapacity = await this.delivery.hasCapacity();
      const attempt: ClaimAttempt = hasCapacity ? await this.claimer.claimNext(shouldWait) : 'later';
      // The first request does not wait: it shows at once whether all work is done.
      shouldWait = attempt === 'ask_again' && this.options.until !== 'idle';
      if (attempt === 'done' || attempt === 'idle') {
        this.isDone ||= attempt === 'done';
        return;
      }
      if (attempt === 'later') {
        retryCount += 1;
        await sleep(retryDelayMs(retryCount), undefined, { signal: this.stopController.signal }).catch(
          () => {},
        );
        continue;
      }
      retryCount = 0;
      if (attempt !== 'ask_again') await this.workOn(attempt);
    }
  }

  private async workOn({ work, track, lease, escalation }: GrantedWork): Promise<void> {
    const startMs = monotonicMs();
    try {
      const ended = await this.runHandler(work, lease);
      if ('result' in ended) {
        const outcome = await this.deliver(work, lease, ended);
        if (outcome?.accepted) await this.leaseEstimates.recordDuration(track, monotonicMs() - startMs);
        if (outcome === null) await this.reportEnd(work, 'pending', 'the server has not answered');
      } else await this.releaseWork(work, lease, ended.error);
      // The earlier escalation is no longer needed: an unanswered result is in the outbox, and a result that is escalated
      // again has a new file.
      if (escalation !== undefined) await this.escalated.remove(escalation);
    } finally {
      lease.stop();
    }
  }

  /**
   * The handler's result, or its error. If the loop is stopped, a handler that ignores the abort is abandoned after a grace
   * period. If the claim is lost, the loop waits for the handler.
   */
  private async runHandler(work: Work, lease: LeaseMonitor): Promise<HandlerResult | { error: unknown }> {
    const handlerController = new AbortController();
    const stop = () => handlerController.abort(new Error('the work loop was stopped'));
    const abortHandler = () => handlerController.abort(lease.signal.reason);
    this.stopController.signal.addEventListener('abort', stop);
    lease.signal.addEventListener('abort', abortHandler);
    if (lease.signal.aborted) abortHandler();
    if (this.isStopped) stop();
    const raceController = new AbortController();
    try {
      if (handlerController.signal.aborted) return { error: handlerController.signal.reason };
      const result = this.handlerResult(work, lease, handlerController.signal);
      return await Promise.race([result, this.rejectAfterGrace(raceController.signal)]);
    } catch (error) {
      return { error };
    } finally {
      raceController.abort();
      this.stopController.signal.removeEventListener('abort', stop);
      lease.signal.removeEventListener('abort', abortHandler);
    }
  }

  /** Calls the handler. Throws if its result is not JSON data. */
  private async handlerResult(work: Work, lease: LeaseMonitor, signal: AbortSignal): Promise<HandlerResult> {
    let metadata: HandlerResult['metadata'];
    const context = this.contextFor(work, lease, signal, (submittedMetadata) => {
      metadata = submittedMetadata;
    });
    const returned = await this.handler(work, context);
    const isEdge = subjectKindOf(work.task_id) === 'edge';
    const { result, evaluators } = isEdge ? parseEdgeResult(returned) : { result: returned };
    // Throws if the reports are not JSON data; the next line does so for the result.
    JSON.stringify(evaluators);
    return { result: JSON.stringify(result) === undefined ? null : result, evaluators, metadata };
  }

  /** Rejects when the grace period of a stop is over, or when `raceEnd` aborts. */
  private async rejectAfterGrace(raceEnd: AbortSignal): Promise<never> {
    await once(this.stopController.signal, 'abort', { signal: raceEnd });
    await sleep(STOP_GRACE_MS, undefined, { signal: raceEnd });
    throw new Error('the work loop was stopped');
  }

  private contextFor(
    { claim }: Work,
    lease: LeaseMonitor,
    signal: AbortSignal,
    setMetadata: WorkContext['setMetadata'],
  ): WorkContext {
    return {
      signal,
      setMetadata,
      held: () => lease.isHeld(),
      note: (text) => this.services.client.note({ ...handleOf(claim), text }),
      stop: () => {
        this.canClaimMore = false;
      },
    };
  }

  private deliver({ claim }: Work, lease: LeaseMonitor, ended: HandlerResult) {
    const { agent_id } = claim;
    const { agent_role } = this.options;
    const { result, metadata, evaluators } = ended;
    const optionalFields = withoutUndefined({ agent_role, metadata, evaluators });
    const request = { request_id: newRequestId(), ...handleOf(claim), ...optionalFields };
    const finished_at = new Date().toISOString();
    return this.delivery.deliver({ ...request, agent_id, result_data: result, finished_at }, lease);
  }

  private async onAnswer(outcome: SubmitOutcome): Promise<void> {
    if (isEscalated(outcome)) await this.escalated.takeAbandoned();
    await this.options.onEnded?.(answeredWork(outcome));
  }

  private async reportEnd({ claim }: Work, outcome: EndedWork['outcome'], message: string): Promise<void> {
    const { task_id, generation } = claim;
    await this.options.onEnded?.({ task_id, generation, outcome, message, submission: null });
  }

  private async releaseWork(work: Work, lease: LeaseMonitor, error: unknown): Promise<void> {
    const handle = withExpectedGeneration(handleOf(work.claim));
    const isLost = lease.signal.aborted;
    const outcome = isLost ? 'lost' : this.isStopped ? 'released' : 'failed';
    this.counts[outcome] += 1;
    lease.stop();
    const message = (error instanceof Error ? error.message : String(error)).slice(
      0,
      RELEASE_MESSAGE_CHARS_MAX,
    );
    const isError = !isLost && !this.isStopped;
    // A claim that may be lost is released too: if it is lost, the server refuses and nothing happens.
    await this.services.client.releaseClaim(
      isError ? { ...handle, reason: 'ERROR', message: message || 'no message' } : handle,
    );
    const { reason: lossReason } = lease.signal;
    await this.reportEnd(work, outcome, lossReason instanceof ClaimLost ? lossReason.reason : message);
  }

  private summary(pending: number): WorkSummary {
    const { outcomes } = this.delivery;
    const accepted = outcomes.filter((outcome) => outcome.accepted).length;
    const escalated = outcomes.filter(isEscalated).length;
    const refused = outcomes.length - accepted - escalated;
    return { accepted, escalated, refused, ...this.counts, pending, is_done: this.isDone, outcomes };
  }
}

function answeredWork(submission: SubmitOutcome): EndedWork {
  const { task_id, generation, accepted, reason, detail, work_product_ref } = submission;
  const ended = { task_id, generation, submission };
  if (accepted) return { ...ended, outcome: 'accepted', message: work_product_ref ?? reason };
  if (isEscalated(submission))
    return { ...ended, outcome: 'escalated', message: 'waits for a person: gen review' };
  return { ...ended, outcome: 'refused', message: detail === null ? reason : `${reason}: ${detail}` };
}
