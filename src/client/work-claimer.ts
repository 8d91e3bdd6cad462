import { adviceFor } from '../core/contract/codes.js';
import { withoutUndefined } from '../core/without-undefined.js';
import type { OwnedEscalation } from './escalated-claims.js';
import type { EscalatedWork } from './escalated-work.js';
import { newRequestId } from './http.js';
import type { LeaseEstimates } from './lease-estimates.js';
import type { LeaseMonitor } from './renewals.js';
import { handleOf } from './renewer.js';
import {
  type ClaimGranted,
  type ClaimRefused,
  GenesisError,
  type GrantedClaim,
  hasLease,
  isProblem,
  isTransient,
} from './replies.js';
import type { NextTaskRequest } from './requests.js';
import { monotonicMs } from './shared-lease-end.js';
import type { Work, WorkOptions, WorkServices } from './work-options.js';

interface PendingNextRequest {
  readonly body: NextTaskRequest;
  /** When the request was first sent. */
  readonly sent_ms: number;
}

export interface GrantedWork {
  readonly work: Work;
  readonly track: string | undefined;
  readonly lease: LeaseMonitor;
  /** If a person requested changes to an earlier result: the claim that waited for this decision. */
  readonly escalation?: OwnedEscalation;
}

/** Maximum wait of one poll. A stop waits for the poll to end, because a grant to an aborted poll would go unnoticed. */
const WAIT_SECONDS = 5;
const WAIT_SECONDS_PER_TRACK = 1;
/**
 * A grant whose reply took longer than this part of its lease is renewed at once, because the end of its lease is uncertain.
 */
const LATE_GRANT_RATIO = 0.1;

/** How many claims that wait for a person are requested again before new work is requested. */
const ESCALATED_REQUESTS_MAX = 20;

/**
 * What one attempt to claim work returns. `ask_again`: there is no work now, request again. `later`: retry after a pause.
 * `idle`: no track has work, and the option `until` is `idle`. `done`: all work is complete.
 */
export type ClaimAttempt = GrantedWork | 'ask_again' | 'later' | 'idle' | 'done';

/** Requests work, and repeats unanswered requests, which may have been granted. */
export class WorkClaimer {
  private readonly unanswered: PendingNextRequest[] = [];
  private nextTrackIndex = 0;
  /** For each track whose last reply was NOTHING_READY: whether its work is done. */
  private readonly isDoneByTrack = new Map<string | undefined, boolean>();
  /** The last advice per track while nothing was ready. */
  private readonly lastAdvice = new Map<string | undefined, string>();

  constructor(
    private readonly services: WorkServices,
    private readonly options: WorkOptions,
    private readonly identity: { readonly agent_id: string; readonly session_id: string },
    private readonly leaseEstimates: LeaseEstimates,
    private readonly escalated: EscalatedWork,
  ) {}

  async claimNext(shouldWait: boolean): Promise<ClaimAttempt> {
    return (await this.resumeReviewed()) ?? this.claimReady(shouldWait);
  }

  /**
   * Requests waiting claims again. Returns the first for which a person has requested changes, null if there is none, or
   * `later` after a transient problem.
   */
  private async resumeReviewed(): Promise<GrantedWork | 'later' | null> {
    await this.escalated.takeAbandoned();
    for (
      let attemptsLeft = Math.min(this.escalated.waitingCount, ESCALATED_REQUESTS_MAX);
      attemptsLeft > 0;
      attemptsLeft--
    ) {
      const escalation = await this.escalated.next();
      const attempt = escalation === null ? null : await this.resumeOne(escalation);
      if (attempt !== null) return attempt;
    }
    return null;
  }

  /** Requests a claim for the session that escalated it, which may be the session of a worker that has ended. */
  private async resumeOne(escalation: OwnedEscalation): Promise<GrantedWork | 'later' | null> {
    const { task_id, session_id, agent_id } = escalation.claim;
    const { agent_role } = this.options;
    const sentMs = monotonicMs();
    const reply = await this.services.client.claimTask({
      task_id,
      session_id,
      agent_id,
      ...withoutUndefined({ agent_role }),
      lease_duration_seconds: await this.leaseSeconds(undefined),
      resume: true,
      with_briefing: true,
    });
    if (isProblem(reply)) {
      // This worker may not use the claim's session. The claim is given back to other workers when the loop ends.
      if (!isTransient(reply)) return null;
      this.escalated.returnToWaiting(escalation);
      return 'later';
    }
    if (!reply.success && reply.reason !== 'DENIED_LIMIT') {
      // The work is completed or on hold, or another worker has it.
      await this.escalated.remove(escalation);
      return null;
    }
    if (!reply.success || reply.claim.state === 'SUSPENDED') {
      this.escalated.returnToWaiting(escalation);
      return null;
    }
    // A resumed lease began at an unknown time before this request. It may end now, so `monitorLease` renews it at once.
    const { lease_duration_seconds } = reply.claim;
    const startMs = reply.resumed === true ? sentMs - (lease_duration_seconds ?? 0) * 1000 : sentMs;
    const lease = await this.monitorLease(reply.claim, startMs);
    return { work: workOf(reply), track: undefined, lease, escalation };
  }

  private async claimReady(shouldWait: boolean): Promise<ClaimAttempt> {
    const request = this.unanswered.pop() ?? (await this.newRequest(shouldWait));
    const reply = await this.services.client.next(request.body);
    if (isProblem(reply)) {
      if (!isTransient(reply)) throw new GenesisError(reply);
      // The request may have been granted, so it is repeated until it is answered.
      this.unanswered.push(request);
      return 'later';
    }
    const { track } = request.body;
    if (!reply.success) return this.onRefused(reply, track);
    this.isDoneByTrack.delete(track);
    return { work: workOf(reply), track, lease: await this.monitorLease(reply.claim, request.sent_ms) };
  }

  private async newRequest(shouldWait: boolean): Promise<PendingNextRequest> {
    const { agent_role, kinds } = this.options;
    const { tracks } = this;
    const track = tracks[this.nextTrackIndex++ % tracks.length];
    const waitSeconds = tracks.length > 1 ? WAIT_SECONDS_PER_TRACK : WAIT_SECONDS;
    const body = {
      request_id: newRequestId(),
      ...this.identity,
      ...withoutUndefined({ track, agent_role, kinds: kinds === undefined ? undefined : [...kinds] }),
      lease_duration_seconds: await this.leaseSeconds(track),
      wait_seconds: shouldWait ? waitSeconds : 0,
    };
    return { body, sent_ms: monotonicMs() };
  }

  /** The tracks to request work of, in turn; undefined means any track. */
  private get tracks(): readonly (string | undefined)[] {
    const { tracks = [] } = this.options;
    return tracks.length === 0 ? [undefined] : tracks;
  }

  private async leaseSeconds(track: string | undefined): Promise<number> {
    return this.options.lease_duration_seconds ?? this.leaseEstimates.estimateFor(track);
  }

  private onRefused(
    refusal: ClaimRefused,
    track: string | undefined,
  ): 'ask_again' | 'later' | 'idle' | 'done' {
    const { reason, next } = refusal;
    if (reason === 'DENIED_LIMIT') return 'later';
    if (refusal.reason === 'NOTHING_READY') {
      this.isDoneByTrack.set(track, refusal.done);
      if (!refusal.done) this.reportIdle(track, idleAdvice(next));
      return this.attemptWhenNothingReady();
    }
    const detail = next ?? 'The server grants no work to this session.';
    throw new GenesisError({ code: reason, detail, status: 409 });
  }

  private reportIdle(track: string | undefined, advice: string): void {
    if (this.lastAdvice.get(track) === advice) return;
    this.lastAdvice.set(track, advice);
    this.options.onIdle?.(advice);
  }

  private attemptWhenNothingReady(): 'ask_again' | 'idle' | 'done' {
    const { until = 'done' } = this.options;
    if (until === 'stopped') return 'ask_again';
    const lastReplies = this.tracks.map((track) => this.isDoneByTrack.get(track));
    if (lastReplies.every((isDone) => isDone === true)) return 'done';
    const isIdle = !lastReplies.includes(undefined) && !this.escalated.hasUnrequestedClaims;
    return until === 'idle' && isIdle ? 'idle' : 'ask_again';
  }

  private async monitorLease(claim: GrantedClaim, sentMs: number): Promise<LeaseMonitor> {
    const { renewals, client } = this.services;
    if (!hasLease(claim)) return renewals.monitor(claim, sentMs);
    const lease_seconds = claim.lease_duration_seconds;
    const renewSentMs = monotonicMs();
    if (renewSentMs - sentMs <= lease_seconds * 1000 * LATE_GRANT_RATIO)
      return renewals.monitor(claim, sentMs);
    const renewal = await client.renewOnce({
      handle: handleOf(claim),
      lease_seconds,
      request_id: newRequestId(),
      timeout_seconds: lease_seconds / 2,
    });
    if (isProblem(renewal) || !renewal.success) return renewals.monitor(claim, sentMs);
    return renewals.monitor({ ...claim, expires_at: renewal.new_expiry ?? claim.expires_at }, renewSentMs);
  }
}

const workOf = ({ claim, briefing }: ClaimGranted): Work => ({
  task_id: claim.task_id,
  claim,
  briefing: briefing ?? null,
});

/** Replaces the general advice on how to wait, because a worker waits by itself. */
const idleAdvice = (next: string | undefined): string =>
  next === undefined || next === adviceFor('NOTHING_READY') ? 'waiting until other work is completed.' : next;
