import type { ClaimResult } from '../../coordinator/wire/index.js';
import {
  type Claimant,
  isMcpProblem,
  type McpBackend,
  type McpHandle,
  type McpNextRequest,
  type McpProblem,
  type McpReleaseRequest,
  type McpSubmission,
  type SubjectSelector,
} from '../../server/mcp/backend.js';

/** The same fraction as the SDK's worker: leaves time for two more attempts before the lease expires. */
const RENEW_AT_LEASE_FRACTION = 0.4;
/**
 * Assumed lease of a handle that was granted elsewhere. Shorter than most, so it is renewed too often rather than
 * too late.
 */
const LEASE_SECONDS_UNKNOWN = 60;
/** `setTimeout` overflows after about 24 days; one hour is enough. */
const RENEW_DELAY_MS_MAX = 3_600_000;
/** Delay after a renewal that got no reply. */
const RETRY_AFTER_MS = 2000;

interface ScheduledRenewal {
  readonly timer: NodeJS.Timeout;
  readonly lease_seconds: number;
}

/**
 * Renews the claims granted through it while its client lives, because a model that thinks for ten minutes makes no
 * calls. When the server refuses a renewal, it drops the claim.
 */
export class AutoRenewingFleet implements McpBackend {
  private readonly renewals = new Map<string, ScheduledRenewal>();
  private isStopped = false;

  constructor(private readonly fleet: McpBackend) {}

  /** The client is gone: its claims expire with their leases. */
  stop(): void {
    this.isStopped = true;
    for (const { timer } of this.renewals.values()) clearTimeout(timer);
    this.renewals.clear();
  }

  async next(request: McpNextRequest) {
    return this.scheduleIfGranted(await this.fleet.next(request));
  }

  async claim(request: SubjectSelector, claimant: Claimant) {
    return this.scheduleIfGranted(await this.fleet.claim(request, claimant));
  }

  async renew(handle: McpHandle, leaseDurationSeconds?: number) {
    const reply = await this.fleet.renew(handle, leaseDurationSeconds);
    if (isMcpProblem(reply)) return reply;
    if (!reply.success) this.cancelRenewal(handle);
    else if (reply.new_expiry !== null) this.scheduleRenewal(handle, leaseDurationSeconds);
    return reply;
  }

  async submit(handle: McpHandle, submission: McpSubmission) {
    const reply = await this.fleet.submit(handle, submission);
    if (!isMcpProblem(reply) && reply.accepted) this.cancelRenewal(handle);
    return reply;
  }

  async release(handle: McpHandle, request: McpReleaseRequest) {
    const reply = await this.fleet.release(handle, request);
    if (!isMcpProblem(reply) && reply.success) this.cancelRenewal(handle);
    return reply;
  }

  note(handle: McpHandle, text: string) {
    return this.fleet.note(handle, text);
  }

  task(taskId: string) {
    return this.fleet.task(taskId);
  }

  status() {
    return this.fleet.status();
  }

  explain(taskId: string) {
    return this.fleet.explain(taskId);
  }

  private scheduleIfGranted(reply: ClaimResult | McpProblem): ClaimResult | McpProblem {
    if (isMcpProblem(reply) || !reply.success || reply.claim === null) return reply;
    const { id: claim_id = '', task_id, generation, session_id, lease_duration_seconds } = reply.claim;
    // A claim without a lease needs no renewal.
    if (lease_duration_seconds !== null) {
      this.scheduleRenewal({ task_id, generation, claim_id, session_id }, lease_duration_seconds);
    }
    return reply;
  }

  /** Uses the lease's duration, not its end: the server's clock may differ from ours. */
  private scheduleRenewal(handle: McpHandle, leaseDurationSeconds?: number): void {
    const known = this.renewals.get(handleKey(handle))?.lease_seconds;
    const leaseSeconds = leaseDurationSeconds ?? known ?? LEASE_SECONDS_UNKNOWN;
    this.renewAfter(
      handle,
      leaseSeconds,
      Math.min(leaseSeconds * 1000 * RENEW_AT_LEASE_FRACTION, RENEW_DELAY_MS_MAX),
    );
  }

  private renewAfter(handle: McpHandle, lease_seconds: number, delayMs: number): void {
    this.cancelRenewal(handle);
    if (this.isStopped) return;
    const timer = setTimeout(async () => {
      const reply = await this.renew(handle).catch((): McpProblem => ({ problem: 'UNKNOWN', detail: '' }));
      const isCurrent = this.renewals.get(handleKey(handle))?.timer === timer;
      if (isMcpProblem(reply) && isCurrent) this.renewAfter(handle, lease_seconds, RETRY_AFTER_MS);
    }, delayMs);
    this.renewals.set(handleKey(handle), { timer, lease_seconds });
  }

  private cancelRenewal(handle: McpHandle): void {
    clearTimeout(this.renewals.get(handleKey(handle))?.timer);
    this.renewals.delete(handleKey(handle));
  }
}

const handleKey = ({ task_id, generation, claim_id }: McpHandle): string =>
  `${task_id} ${generation} ${claim_id}`;
