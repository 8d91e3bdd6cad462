import { withoutUndefined } from '../core/without-undefined.js';
import { newRequestId } from './http.js';
import { monotonicMs } from './lease-cell.js';
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
import type { Work, WorkDependencies, WorkOptions } from './work-options.js';

interface PendingNextRequest {
  readonly body: NextTaskRequest;
  /** When it was first sent. */
  readonly sent_ms: number;
}

export interface GrantedWork {
  readonly work: Work;
  readonly track: string | undefined;
  readonly lease: LeaseMonitor;
}

/** Maximum wait of one poll. A stop does not abort a poll, whose grant would go unnoticed, so it may take this long. */
const WAIT_SECONDS = 5;
const WAIT_SECONDS_PER_TRACK = 1;
/** A grant that took longer than this part of its lease is renewed at once, to know when it ends. */
const LATE_GRANT_RATIO = 0.1;

/** Maximum number of subjects that are asked for again after a review. The oldest beyond it are left to their lease. */
const ESCALATED_MAX = 1000;

/** `nothing`: no work now. `later`: retry after a pause. `idle`: no track has work now. `done`: all work is complete. */
export type ClaimAttempt = GrantedWork | 'nothing' | 'later' | 'idle' | 'done';

/** Requests work, and repeats unanswered requests, which may have been granted. */
export class WorkClaimer {
  private readonly unanswered: PendingNextRequest[] = [];
  private nextTrackIndex = 0;
  /** Subjects of this session whose results wait for a human. */
  private readonly escalated: string[] = [];
  /** Tracks whose last reply was that nothing is ready, and whether it said that their work is done. */
  private readonly emptyTracks = new Map<string | undefined, boolean>();

  constructor(
    private readonly dependencies: WorkDependencies,
    private readonly options: WorkOptions,
    private readonly identity: { readonly agent_id: string; readonly session_id: string },
    private readonly leaseEstimates: LeaseEstimates,
  ) {}

  async claimNext(shouldWait: boolean): Promise<ClaimAttempt> {
    return (await this.resumeReviewed()) ?? this.claimReady(shouldWait);
  }

  rememberEscalated(taskId: string): void {
    this.escalated.push(taskId);
    if (this.escalated.length > ESCALATED_MAX) this.escalated.shift();
  }

  get hasEscalated(): boolean {
    return this.escalated.length > 0;
  }

  /** Asks for one subject that waited for a human: if changes were requested, it is this session's again. Otherwise null. */
  private async resumeReviewed(): Promise<GrantedWork | 'later' | null> {
    const task_id = this.escalated.shift();
    if (task_id === undefined) return null;
    const { agent_role } = this.options;
    const sentMs = monotonicMs();
    const reply = await this.dependencies.client.claimTask({
      task_id,
      ...this.identity,
      ...withoutUndefined({ agent_role }),
      lease_duration_seconds: await this.leaseSeconds(undefined),
      resume: true,
      with_briefing: true,
    });
    if (isProblem(reply)) {
      if (!isTransient(reply)) throw new GenesisError(reply);
      this.rememberEscalated(task_id);
      return 'later';
    }
    // It is completed or held, or somebody else has it.
    if (!reply.success) return null;
    if (reply.claim.state === 'SUSPENDED') {
      this.rememberEscalated(task_id);
      return null;
    }
    // A resumed lease began at an unknown time before this request: it may end now.
    const { lease_duration_seconds } = reply.claim;
    const beganMs = reply.resumed === true ? sentMs - (lease_duration_seconds ?? 0) * 1000 : sentMs;
    return { work: workOf(reply), track: undefined, lease: await this.startMonitor(reply.claim, beganMs) };
  }

  private async claimReady(shouldWait: boolean): Promise<ClaimAttempt> {
    const request = this.unanswered.pop() ?? (await this.newRequest(shouldWait));
    const reply = await this.dependencies.client.next(request.body);
    if (isProblem(reply)) {
      if (!isTransient(reply)) throw new GenesisError(reply);
      // It may have been granted: it is repeated until it is answered.
      this.unanswered.push(request);
      return 'later';
    }
    const { track } = request.body;
    if (!reply.success) return this.onRefused(reply, track);
    this.emptyTracks.delete(track);
    return { work: workOf(reply), track, lease: await this.startMonitor(reply.claim, request.sent_ms) };
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

  /** The tracks to ask for in turn; undefined: any. */
  private get tracks(): readonly (string | undefined)[] {
    const { tracks = [] } = this.options;
    return tracks.length === 0 ? [undefined] : tracks;
  }

  private async leaseSeconds(track: string | undefined): Promise<number> {
    return this.options.lease_duration_seconds ?? this.leaseEstimates.estimateFor(track);
  }

  private onRefused(refusal: ClaimRefused, track: string | undefined): 'nothing' | 'later' | 'idle' | 'done' {
    const { reason, next } = refusal;
    if (reason === 'DENIED_LIMIT') return 'later';
    if (refusal.reason === 'NOTHING_READY') {
      this.emptyTracks.set(track, refusal.done);
      return this.replyWhenNothingReady();
    }
    const detail = next ?? 'The server grants no work to this session.';
    throw new GenesisError({ code: reason, detail, status: 409 });
  }

  private replyWhenNothingReady(): 'nothing' | 'idle' | 'done' {
    const { until = 'done' } = this.options;
    if (until === 'stopped') return 'nothing';
    const lastReplies = this.tracks.map((track) => this.emptyTracks.get(track));
    if (lastReplies.every((isDone) => isDone === true)) return 'done';
    return until === 'idle' && !lastReplies.includes(undefined) ? 'idle' : 'nothing';
  }

  private async startMonitor(claim: GrantedClaim, sentMs: number): Promise<LeaseMonitor> {
    const { renewals, client } = this.dependencies;
    if (!hasLease(claim)) return renewals.monitor(claim, sentMs);
    const lease_seconds = claim.lease_duration_seconds;
    const renewSentMs = monotonicMs();
    if (renewSentMs - sentMs <= lease_seconds * 1000 * LATE_GRANT_RATIO)
      return renewals.monitor(claim, sentMs);
    const renewed = await client.renewOnce({
      handle: handleOf(claim),
      lease_seconds,
      request_id: newRequestId(),
      timeout_seconds: lease_seconds / 2,
    });
    if (isProblem(renewed) || !renewed.success) return renewals.monitor(claim, sentMs);
    return renewals.monitor({ ...claim, expires_at: renewed.new_expiry ?? claim.expires_at }, renewSentMs);
  }
}

const workOf = ({ claim, briefing }: ClaimGranted): Work => ({
  task_id: claim.task_id,
  claim,
  briefing: briefing ?? null,
});
