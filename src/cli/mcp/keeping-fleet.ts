import type { ClaimResult } from '../../coordinator/wire.js';
import {
  type Fleet,
  type Handed,
  type Handle,
  isTrouble,
  type Named,
  type NextAsk,
  type ReleaseAsk,
  type Taker,
  type Trouble,
} from '../../server/mcp/fleet.js';

/** As early as a worker of the SDK renews: there is time for two more tries before the lease is over. */
const RENEWED_AT = 0.4;
/** For a handle that was taken elsewhere: shorter than most, so that it is renewed rather too often. */
const LEASE_SECONDS_UNKNOWN = 60;
/** A timer cannot wait for more than a few weeks, and need not for more than an hour. */
const PAUSE_MS_MAX = 3_600_000;
/** After a renewal that got no answer. */
const AGAIN_MS = 2000;

interface Kept {
  readonly timer: NodeJS.Timeout;
  readonly lease_seconds: number;
}

/**
 * Renews what was taken through it for as long as its client lives, since a model that thinks for ten minutes calls
 * nothing meanwhile. What it is no longer granted it lets go: the rules decide, not this.
 */
export class KeepingFleet implements Fleet {
  private readonly kept = new Map<string, Kept>();
  private stopped = false;

  constructor(private readonly fleet: Fleet) {}

  /** The client is gone: its claims are left to their leases. */
  stop(): void {
    this.stopped = true;
    for (const { timer } of this.kept.values()) clearTimeout(timer);
    this.kept.clear();
  }

  async next(ask: NextAsk) {
    return this.taken(await this.fleet.next(ask));
  }

  async claim(named: Named, taker: Taker) {
    return this.taken(await this.fleet.claim(named, taker));
  }

  async renew(handle: Handle, lease_duration_seconds?: number) {
    const reply = await this.fleet.renew(handle, lease_duration_seconds);
    if (isTrouble(reply)) return reply;
    if (!reply.success) this.letGo(handle);
    else if (reply.new_expiry !== null) this.keep(handle, lease_duration_seconds);
    return reply;
  }

  async submit(handle: Handle, handed: Handed) {
    const reply = await this.fleet.submit(handle, handed);
    if (!isTrouble(reply) && reply.accepted) this.letGo(handle);
    return reply;
  }

  async release(handle: Handle, ask: ReleaseAsk) {
    const reply = await this.fleet.release(handle, ask);
    if (!isTrouble(reply) && reply.success) this.letGo(handle);
    return reply;
  }

  note(handle: Handle, text: string) {
    return this.fleet.note(handle, text);
  }

  task(task_id: string) {
    return this.fleet.task(task_id);
  }

  status() {
    return this.fleet.status();
  }

  explain(task_id: string) {
    return this.fleet.explain(task_id);
  }

  private taken(reply: ClaimResult | Trouble): ClaimResult | Trouble {
    if (isTrouble(reply) || !reply.success || reply.claim === null) return reply;
    const { id: claim_id = '', task_id, generation, session_id, lease_duration_seconds } = reply.claim;
    // A claim without a lease needs no renewal.
    if (lease_duration_seconds !== null) {
      this.keep({ task_id, generation, claim_id, session_id }, lease_duration_seconds);
    }
    return reply;
  }

  /** By the length of the lease, not by its end: the server's clock need not be ours. */
  private keep(handle: Handle, lease_duration_seconds?: number): void {
    const known = this.kept.get(keyOf(handle))?.lease_seconds;
    const lease_seconds = lease_duration_seconds ?? known ?? LEASE_SECONDS_UNKNOWN;
    this.renewAfter(handle, lease_seconds, Math.min(lease_seconds * 1000 * RENEWED_AT, PAUSE_MS_MAX));
  }

  private renewAfter(handle: Handle, lease_seconds: number, pause_ms: number): void {
    this.letGo(handle);
    if (this.stopped) return;
    const timer = setTimeout(async () => {
      const reply = await this.renew(handle).catch((): Trouble => ({ problem: 'UNKNOWN', detail: '' }));
      const is_ours = this.kept.get(keyOf(handle))?.timer === timer;
      if (isTrouble(reply) && is_ours) this.renewAfter(handle, lease_seconds, AGAIN_MS);
    }, pause_ms);
    this.kept.set(keyOf(handle), { timer, lease_seconds });
  }

  private letGo(handle: Handle): void {
    clearTimeout(this.kept.get(keyOf(handle))?.timer);
    this.kept.delete(keyOf(handle));
  }
}

const keyOf = ({ task_id, generation, claim_id }: Handle): string => `${task_id} ${generation} ${claim_id}`;
