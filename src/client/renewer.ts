import { newRequestId, retryDelayMs } from './http.js';
import { type ApiProblem, type GrantedClaim, isProblem, type RenewalReply } from './replies.js';
import { monotonicMs, SharedLeaseEnd } from './shared-lease-end.js';

/** What identifies a claim in the requests of its holder. */
export interface LeaseHandle {
  readonly task_id: string;
  readonly session_id: string;
  readonly claim_id: string;
  readonly generation: number;
}

export function handleOf({ task_id, generation, id, session_id }: GrantedClaim): LeaseHandle {
  return { task_id, generation, claim_id: id, session_id };
}

/** The handle for calls in which the field of the generation is named `expected_generation`. */
export const withExpectedGeneration = ({ generation, ...fields }: LeaseHandle) => ({
  ...fields,
  expected_generation: generation,
});

/** A claim to renew, as plain data that can be sent to another thread. */
export interface LeaseToRenew {
  readonly key: number;
  readonly handle: LeaseHandle;
  readonly lease_seconds: number;
  /** The end of the lease as the server reports it, by the server's clock. */
  readonly expires_at: string;
  readonly lease_end_buffer: SharedArrayBuffer;
}

export interface RenewalAttempt {
  readonly handle: LeaseHandle;
  readonly lease_seconds: number;
  readonly request_id: string;
  readonly timeout_seconds: number;
}
export type SendRenewal = (renewal: RenewalAttempt) => Promise<RenewalReply | ApiProblem>;

/** Messages to and from a renewer in another thread. */
export type RenewerCommand = { start: LeaseToRenew } | { stop: number };
export type RenewerMessage = { ready: true } | { lost: number; reason: string };

const RENEW_AT_RATIO = 0.4;
const JITTER_RATIO = 0.1;
const TIMEOUT_RATIO = 0.25;
const TIMEOUT_SECONDS_MAX = 10;

/** Renews claims until their renewal is stopped or they are lost. */
export class Renewer {
  private readonly renewals = new Map<number, LeaseRenewal>();

  constructor(
    private readonly renew: SendRenewal,
    private readonly onLost: (key: number, reason: string) => void,
  ) {}

  execute(command: RenewerCommand): void {
    if ('start' in command) this.startRenewing(command.start);
    else this.stopRenewing(command.stop);
  }

  private startRenewing(lease: LeaseToRenew): void {
    const renewal = new LeaseRenewal(lease, this.renew, (reason) => {
      this.renewals.delete(lease.key);
      this.onLost(lease.key, reason);
    });
    this.renewals.set(lease.key, renewal);
    renewal.start();
  }

  private stopRenewing(key: number): void {
    this.renewals.get(key)?.stop();
    this.renewals.delete(key);
  }

  stop(): void {
    for (const key of [...this.renewals.keys()]) this.stopRenewing(key);
  }
}

/** The delay until a renewal. `random`, from 0 to 1, spreads it, so that the agents of a fleet do not renew all at once. */
export const renewalDelayMs = (leaseMs: number, random: number): number =>
  leaseMs * RENEW_AT_RATIO * (1 + JITTER_RATIO * (2 * random - 1));

class LeaseRenewal {
  private readonly leaseEnd: SharedLeaseEnd;
  private readonly leaseMs: number;
  private expiresAtMs: number;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(
    private readonly lease: LeaseToRenew,
    private readonly renew: SendRenewal,
    private readonly onLost: (reason: string) => void,
  ) {
    this.leaseEnd = new SharedLeaseEnd(lease.lease_end_buffer);
    this.leaseMs = lease.lease_seconds * 1000;
    this.expiresAtMs = Date.parse(lease.expires_at);
  }

  start(): void {
    const elapsedMs = this.leaseMs - (this.leaseEnd.endsAtMs - monotonicMs());
    this.schedule(renewalDelayMs(this.leaseMs, Math.random()) - elapsedMs, () =>
      this.renewOnce(newRequestId(), 1),
    );
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private async renewOnce(request_id: string, attempt: number): Promise<void> {
    const sentMs = monotonicMs();
    const { handle, lease_seconds } = this.lease;
    const timeout_seconds = Math.min(lease_seconds * TIMEOUT_RATIO, TIMEOUT_SECONDS_MAX);
    const reply = await this.renew({ handle, lease_seconds, request_id, timeout_seconds });
    if (this.isStopped) return;
    if (isProblem(reply)) return this.retryOrEnd(request_id, attempt, reply);
    if (!reply.success) return this.end(reply.reason);
    if (reply.new_expiry !== null) this.extendLease(sentMs, Date.parse(reply.new_expiry));
    this.start();
  }

  /**
   * Sets the earlier of two ends, so that the end is never later than the server's. One is a full lease after the request
   * was sent. The other is the known end, moved by as much as the server moved its own: it is the earlier one if the server
   * shortened the lease.
   */
  private extendLease(sentMs: number, expiresAtMs: number): void {
    const shiftedEndMs = this.leaseEnd.endsAtMs + (expiresAtMs - this.expiresAtMs);
    this.leaseEnd.endsAtMs = Math.min(sentMs + this.leaseMs, shiftedEndMs);
    this.expiresAtMs = expiresAtMs;
  }

  private retryOrEnd(requestId: string, attempt: number, { code }: ApiProblem): void {
    const pauseMs = Math.min(retryDelayMs(attempt), this.leaseMs / 10);
    if (monotonicMs() + pauseMs >= this.leaseEnd.endsAtMs) this.end(code);
    else this.schedule(pauseMs, () => this.renewOnce(requestId, attempt + 1));
  }

  private end(reason: string): void {
    this.stop();
    this.leaseEnd.markLost();
    this.onLost(reason);
  }

  private schedule(delayMs: number, act: () => Promise<void>): void {
    this.timer = setTimeout(() => void act(), Math.max(delayMs, 0));
  }
}
