import { TenantQueue } from '../queue/tenant-queue.js';
import type { Environment } from '../runtime/environment.js';
import { type AsyncReply, problem } from '../wire/problem.js';

interface ReadLimits {
  /** Maximum number of concurrent slow reads. */
  readonly running_max: number;
  /** Maximum number of queued reads per tenant. */
  readonly queued_max: number;
}

const DEFAULT_READ_LIMITS: ReadLimits = { running_max: 4, queued_max: 100 };

/**
 * Limits concurrent slow reads, and serves tenants in turn. A renewal never waits for queued reads. It waits for a running
 * read only until that read yields to the event loop.
 */
export class ReadScheduler {
  private readonly waiting = new TenantQueue<() => void>();
  private running = 0;

  constructor(
    private readonly environment: Pick<Environment, 'yieldToEventLoop'>,
    private readonly limits: ReadLimits = DEFAULT_READ_LIMITS,
  ) {}

  async run<T>(tenantId: string, read: () => AsyncReply<T>): AsyncReply<T> {
    if (this.running < this.limits.running_max) this.running += 1;
    else {
      const queued = this.waiting.countOf(tenantId);
      if (queued >= this.limits.queued_max) {
        return problem('UNAVAILABLE', `${queued} reads of this tenant are already queued. Retry later.`);
      }
      await new Promise<void>((resolve) => this.waiting.push(tenantId, resolve));
    }
    try {
      return await read();
    } finally {
      this.startNext();
    }
  }

  /** The next read starts in a later turn of the event loop. */
  private startNext(): void {
    const next = this.waiting.next();
    if (next === undefined) this.running -= 1;
    else void this.environment.yieldToEventLoop().then(next);
  }
}
