import { withoutUndefined } from '../core/without-undefined.js';
import { newRequestId } from './http.js';
import { monotonicMs } from './lease-cell.js';
import type { LeaseProposals } from './lease-proposals.js';
import type { LeaseMonitor } from './renewals.js';
import { handleOf } from './renewer.js';
import { type ClaimRefused, GenesisError, isProblem, isTransient, type LeasedClaim } from './replies.js';
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

/** `nothing`: no work now. `later`: retry after a pause. `done`: no more work will come. */
export type ClaimAttempt = GrantedWork | 'nothing' | 'later' | 'done';

/** Requests work, and repeats unanswered requests, which may have been granted. */
export class WorkClaimer {
  private readonly unanswered: PendingNextRequest[] = [];
  private nextTrackIndex = 0;

  constructor(
    private readonly dependencies: WorkDependencies,
    private readonly options: WorkOptions,
    private readonly identity: { readonly agent_id: string; readonly session_id: string },
    private readonly proposals: LeaseProposals,
  ) {}

  async claimNext(shouldWait: boolean): Promise<ClaimAttempt> {
    const request = this.unanswered.pop() ?? (await this.newRequest(shouldWait));
    const reply = await this.dependencies.client.next(request.body);
    if (isProblem(reply)) {
      if (!isTransient(reply)) throw new GenesisError(reply);
      // It may have been granted: it is repeated until it is answered.
      this.unanswered.push(request);
      return 'later';
    }
    if (!reply.success) return this.onRefused(reply);
    const work = { task_id: reply.claim.task_id, claim: reply.claim, briefing: reply.briefing ?? null };
    return { work, track: request.body.track, lease: await this.startMonitor(reply.claim, request.sent_ms) };
  }

  private async newRequest(shouldWait: boolean): Promise<PendingNextRequest> {
    const { tracks = [], agent_role, lease_duration_seconds } = this.options;
    const track = tracks[this.nextTrackIndex++ % Math.max(tracks.length, 1)];
    const waitSeconds = tracks.length > 1 ? WAIT_SECONDS_PER_TRACK : WAIT_SECONDS;
    const body = {
      request_id: newRequestId(),
      ...this.identity,
      ...withoutUndefined({ track, agent_role }),
      lease_duration_seconds: lease_duration_seconds ?? (await this.proposals.proposeFor(track)),
      wait_seconds: shouldWait ? waitSeconds : 0,
    };
    return { body, sent_ms: monotonicMs() };
  }

  private async onRefused({ reason, next }: ClaimRefused): Promise<'nothing' | 'later' | 'done'> {
    if (reason === 'NOTHING_READY') return (await this.isDone()) ? 'done' : 'nothing';
    if (reason === 'DENIED_LIMIT') return 'later';
    const detail = next ?? 'The server grants no work to this session.';
    throw new GenesisError({ code: reason, detail, status: 409 });
  }

  private async isDone(): Promise<boolean> {
    if (this.options.until === 'stopped') return false;
    if (this.options.until === 'idle') return true;
    const { tracks = [undefined] } = this.options;
    for (const track of tracks) {
      const open = await this.dependencies.client.tasks({ phase: 'OPEN', limit: 1, ...(track && { track }) });
      if (isProblem(open) || open.tasks.length > 0) return false;
    }
    return true;
  }

  private async startMonitor(claim: LeasedClaim, sentMs: number): Promise<LeaseMonitor> {
    const { renewals, client } = this.dependencies;
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
