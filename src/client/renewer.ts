import { newRequestId, pauseAfter } from './http.js';
import { LeaseCell, monotonicMs } from './lease-cell.js';
import { isProblem, type Problem, type RenewalReply } from './replies.js';

/** A claim to be kept: plain data, so that it can go to another thread. */
export interface Keep {
  readonly key: number;
  readonly handle: {
    readonly task_id: string;
    readonly session_id: string;
    readonly claim_id: string;
    readonly generation: number;
  };
  readonly lease_seconds: number;
  /** The server's word and the server's clock. */
  readonly expires_at: string;
  readonly cell: SharedArrayBuffer;
}

export interface Renewal {
  readonly handle: Keep['handle'];
  readonly lease_seconds: number;
  readonly request_id: string;
  readonly timeout_seconds: number;
}
export type Renew = (renewal: Renewal) => Promise<RenewalReply | Problem>;

/** What is said to a renewer in another thread, and what it says. */
export type ToRenewer = { keep: Keep } | { drop: number };
export type FromRenewer = { ready: true } | { lost: number; reason: string };

const RENEW_AT = 0.4;
const TRY_FOR = 0.25;
const TIMEOUT_SECONDS_MAX = 10;

/** Renews claims until told to stop, or until one is lost. */
export class Renewer {
  private readonly kept = new Map<number, Keeping>();

  constructor(
    private readonly renew: Renew,
    private readonly lost: (key: number, reason: string) => void,
  ) {}

  keep(keep: Keep): void {
    const keeping = new Keeping(keep, this.renew, (reason) => {
      this.kept.delete(keep.key);
      this.lost(keep.key, reason);
    });
    this.kept.set(keep.key, keeping);
    keeping.start();
  }

  drop(key: number): void {
    this.kept.get(key)?.stop();
    this.kept.delete(key);
  }

  stop(): void {
    for (const key of [...this.kept.keys()]) this.drop(key);
  }
}

/** The renewals of one claim. */
class Keeping {
  private readonly cell: LeaseCell;
  private readonly lease_ms: number;
  private expires_at_ms: number;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly keep: Keep,
    private readonly renew: Renew,
    private readonly lost: (reason: string) => void,
  ) {
    this.cell = new LeaseCell(keep.cell);
    this.lease_ms = keep.lease_seconds * 1000;
    this.expires_at_ms = Date.parse(keep.expires_at);
  }

  start(): void {
    const jitter = 0.9 + Math.random() * 0.2;
    const spent_ms = this.lease_ms - (this.cell.ends_ms - monotonicMs());
    this.after(this.lease_ms * RENEW_AT * jitter - spent_ms, () => this.renewal(newRequestId(), 1));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async renewal(request_id: string, tried: number): Promise<void> {
    const sent_ms = monotonicMs();
    const { handle, lease_seconds } = this.keep;
    const timeout_seconds = Math.min(lease_seconds * TRY_FOR, TIMEOUT_SECONDS_MAX);
    const reply = await this.renew({ handle, lease_seconds, request_id, timeout_seconds });
    if (this.stopped) return;
    if (isProblem(reply)) return this.again(request_id, tried, reply);
    if (!reply.success) return this.end(reply.reason);
    if (reply.new_expiry !== null) this.renewed(sent_ms, Date.parse(reply.new_expiry));
    this.start();
  }

  /** Both are ends that the server's cannot precede; where it gave less than a whole lease, the second is earlier. */
  private renewed(sent_ms: number, expires_at_ms: number): void {
    const by_shift_ms = this.cell.ends_ms + (expires_at_ms - this.expires_at_ms);
    this.cell.ends_ms = Math.min(sent_ms + this.lease_ms, by_shift_ms);
    this.expires_at_ms = expires_at_ms;
  }

  private again(request_id: string, tried: number, { code }: Problem): void {
    const pause_ms = Math.min(pauseAfter(tried), this.lease_ms / 10);
    if (monotonicMs() + pause_ms >= this.cell.ends_ms) this.end(code);
    else this.after(pause_ms, () => this.renewal(request_id, tried + 1));
  }

  private end(reason: string): void {
    this.stop();
    this.cell.lose();
    this.lost(reason);
  }

  private after(ms: number, act: () => Promise<void>): void {
    this.timer = setTimeout(() => void act(), Math.max(ms, 0));
  }
}
