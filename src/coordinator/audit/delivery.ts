import type { ProjectKey } from '../../stores/store.js';
import type { AuditRecords, SignedRoot } from './audit-records.js';
import type { AuditSink } from './sink.js';

/** Per call, so that a sink that was down for long is not sent everything at once. */
const CHECKPOINTS_PER_CALL = 100;
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 5 * 60_000;

/**
 * Sends the checkpoints of a project to a sink, in order. The log has them all, so a sink that is down misses none and
 * delays nobody: it is tried again after a pause that doubles.
 */
export class SinkDelivery {
  /** Null until the sink was asked. */
  private sentPosition: number | null = null;
  private running: Promise<void> | null = null;
  private pauseMs = PAUSE_MS;
  private notBeforeMs = 0;

  constructor(
    private readonly projectKey: ProjectKey,
    private readonly records: AuditRecords,
    private readonly sink: AuditSink,
  ) {}

  /** Sends what is new, unless the sink is being given time to recover. Never rejects. */
  deliver(nowMs: number): Promise<void> {
    if (nowMs < this.notBeforeMs) return Promise.resolve();
    this.running ??= this.sendAll()
      .then(() => {
        this.pauseMs = PAUSE_MS;
      })
      .catch(() => {
        this.notBeforeMs = nowMs + this.pauseMs;
        this.pauseMs = Math.min(2 * this.pauseMs, PAUSE_MS_MAX);
      })
      .finally(() => {
        this.running = null;
      });
    return this.running;
  }

  /** Checkpoints that the sink has not confirmed yet. */
  get pending(): number {
    const sent = this.sentPosition ?? 0;
    return this.records.checkpoints.filter(({ position }) => position > sent).length;
  }

  private async sendAll(): Promise<void> {
    this.sentPosition ??= await this.sink.lastPosition(this.projectKey);
    for (let next = this.nextUnsent(); next.length > 0; next = this.nextUnsent()) {
      await this.sink.send(next.map((checkpoint) => this.records.anchorOf(checkpoint)));
      this.sentPosition = next.at(-1)?.position ?? 0;
    }
  }

  private nextUnsent(): SignedRoot[] {
    const sent = this.sentPosition ?? 0;
    return this.records.checkpoints.filter(({ position }) => position > sent).slice(0, CHECKPOINTS_PER_CALL);
  }
}
