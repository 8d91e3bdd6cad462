import { type ApiProblem, Genesis, type GenesisOptions, isProblem } from '../../client/index.js';
import type { ClaimReply, NextReply } from '../../client/replies.js';
import type { RenewLeaseRequest } from '../../client/requests.js';
import { withoutUndefined } from '../../core/without-undefined.js';

/** A claim is renewed after this fraction of its lease, as in the SDK's worker: the rest leaves time for more attempts. */
const RENEW_AT_LEASE_FRACTION = 0.4;
/** Assumed lease of a handle granted elsewhere. Short: it is renewed too often rather than too late. */
const LEASE_SECONDS_UNKNOWN = 60;
/** Maximum delay before a renewal: `setTimeout` overflows after about 24 days, and one hour is enough. */
const RENEW_DELAY_MS_MAX = 3_600_000;
/** Delay after a renewal that got no reply, or an error as reply. A refusal is not such an error. */
const RETRY_AFTER_MS = 2000;

interface ScheduledRenewal {
  readonly timer: NodeJS.Timeout;
  readonly lease_seconds: number;
}

/** Renewals stop this long after the last call, unless `--renew-for` sets another time. */
export const RENEW_FOR_SECONDS = 2 * 3600;

/**
 * Renews the claims granted through it while the MCP client runs, because a model that thinks for ten minutes makes no
 * calls. Renewals stop some time after the last call: an MCP client may run for days after its model has stopped. A claim
 * whose renewal the server refuses is not renewed again.
 */
export class AutoRenewingClient extends Genesis {
  private readonly renewals = new Map<string, ScheduledRenewal>();
  private isStopped = false;
  private lastCallMs = performance.now();

  constructor(
    options: GenesisOptions,
    private readonly renewForSeconds = RENEW_FOR_SECONDS,
  ) {
    super(options);
  }

  /** Records that the model of the MCP client has made a call. */
  recordCall(): void {
    this.lastCallMs = performance.now();
  }

  /** Stops all renewals when the MCP client is gone: its claims expire with their leases. */
  stop(): void {
    this.isStopped = true;
    for (const { timer } of this.renewals.values()) clearTimeout(timer);
    this.renewals.clear();
  }

  override async next(...args: Parameters<Genesis['next']>) {
    return this.scheduleIfGranted(await super.next(...args));
  }

  override async claimTask(...args: Parameters<Genesis['claimTask']>) {
    return this.scheduleIfGranted(await super.claimTask(...args));
  }

  override async renewLease(renewal: Parameters<Genesis['renewLease']>[0]) {
    const reply = await super.renewLease(renewal);
    if (isProblem(reply)) return reply;
    if (!reply.success) this.cancelRenewal(renewal);
    else if (reply.new_expiry !== null) this.scheduleRenewal(renewal, renewal.lease_duration_seconds);
    return reply;
  }

  override async submitResult(submission: Parameters<Genesis['submitResult']>[0]) {
    const reply = await super.submitResult(submission);
    const { generation: expected_generation } = submission;
    if (!isProblem(reply) && reply.accepted) this.cancelRenewal({ ...submission, expected_generation });
    return reply;
  }

  override async releaseClaim(release: Parameters<Genesis['releaseClaim']>[0]) {
    const reply = await super.releaseClaim(release);
    if (!isProblem(reply) && reply.success) this.cancelRenewal(release);
    return reply;
  }

  private scheduleIfGranted<Reply extends ClaimReply | NextReply | ApiProblem>(reply: Reply): Reply {
    if (isProblem(reply) || !reply.success) return reply;
    const { id: claim_id, generation: expected_generation, lease_duration_seconds } = reply.claim;
    // A claim without a lease needs no renewal.
    if (lease_duration_seconds !== null)
      this.scheduleRenewal({ ...reply.claim, claim_id, expected_generation }, lease_duration_seconds);
    return reply;
  }

  /** Uses the lease's duration, not its end: the server's clock may differ from ours. */
  private scheduleRenewal(handle: RenewalHandle, leaseDurationSeconds?: number): void {
    const scheduledSeconds = this.renewals.get(keyOf(handle))?.lease_seconds;
    const leaseSeconds = leaseDurationSeconds ?? scheduledSeconds ?? LEASE_SECONDS_UNKNOWN;
    const delayMs = Math.min(leaseSeconds * 1000 * RENEW_AT_LEASE_FRACTION, RENEW_DELAY_MS_MAX);
    this.renewAfter(handle, leaseSeconds, delayMs);
  }

  private renewAfter(handle: RenewalHandle, lease_seconds: number, delayMs: number): void {
    this.cancelRenewal(handle);
    if (this.isStopped) return;
    const { task_id, session_id, claim_id, expected_generation } = handle;
    const renewal = withoutUndefined({ task_id, session_id, claim_id, expected_generation });
    const timer = setTimeout(async () => {
      if (performance.now() - this.lastCallMs >= this.renewForSeconds * 1000)
        return this.cancelRenewal(handle);
      const reply = await this.renewLease(renewal).catch(() => null);
      const isCurrent = this.renewals.get(keyOf(handle))?.timer === timer;
      if ((reply === null || isProblem(reply)) && isCurrent)
        this.renewAfter(handle, lease_seconds, RETRY_AFTER_MS);
    }, delayMs);
    this.renewals.set(keyOf(handle), { timer, lease_seconds });
  }

  private cancelRenewal(handle: RenewalHandle): void {
    clearTimeout(this.renewals.get(keyOf(handle))?.timer);
    this.renewals.delete(keyOf(handle));
  }
}

type RenewalHandle = Pick<RenewLeaseRequest, 'task_id' | 'session_id' | 'claim_id' | 'expected_generation'>;

const keyOf = ({ task_id, expected_generation, claim_id = '' }: RenewalHandle): string =>
  `${task_id} ${expected_generation} ${claim_id}`;
