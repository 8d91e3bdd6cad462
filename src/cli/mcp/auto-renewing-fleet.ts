import type { ClaimResult } from '../../coordinator/wire.js';
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

/** As early as a worker of the SDK renews: there is time for two more tries before the lease is over. */
const RENEW_AT_LEASE_FRACTION = 0.4;
/** For a handle that was taken elsewhere: shorter than most, so that it is renewed rather too often. */
const LEASE_SECONDS_UNKNOWN = 60;
/** A timer cannot wait for more than a few weeks, and need not for more than an hour. */
const RENEW_DELAY_MS_MAX = 3_600_000;
/** After a renewal that got no answer. */
const RETRY_AFTER_MS = 2000;

interface ScheduledRenewal {
  readonly timer: NodeJS.Timeout;
  readonly lease_seconds: number;
}

/**
 * Renews what was taken through it for as long as its client lives, since a model that thinks for ten minutes calls
 * nothing meanwhile. What it is no longer granted it lets go: the rules decide, not this.
 */
export class AutoRenewingFleet implements McpBackend {
  private readonly renewals = new Map<string, ScheduledRenewal>();
  private isStopped = false;

  constructor(private readonly fleet: McpBackend) {}

  /** The client is gone: its claims are left to their leases. */
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

  /** By the length of the lease, not by its end: the server's clock need not be ours. */
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
