import type { ProjectKey } from '../../stores/store.js';
import type { AuditRecords, SignedRoot } from './audit-records.js';
import { type AuditSink, type CheckpointId, isLater } from './sink.js';

/** Maximum number of checkpoints per call: a sink that was down for long does not get all of them at once. */
const CHECKPOINTS_PER_CALL = 100;
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 5 * 60_000;

/**
 * Sends the checkpoints of a project to a sink, in order. The log keeps them all, so a sink that is down misses none.
 * After a failure, the next attempt follows a pause, which doubles with each failure.
 */
export class SinkDelivery {
  /** The last checkpoint that the sink has; null if it has none. Undefined until it has been read from the sink. */
  private lastSent: CheckpointId | null | undefined;
  private running: Promise<void> | null = null;
  private pauseMs = PAUSE_MS;
  private notBeforeMs = 0;

  constructor(
    private readonly projectKey: ProjectKey,
    private readonly records: AuditRecords,
    private readonly sink: AuditSink,
    /**
     * Only checkpoints of these keys are sent: an anchor vouches for its key, and any writer to the log may have
     * enrolled another key.
     */
    private readonly ownKeys: ReadonlySet<string>,
    private readonly now: () => number,
  ) {}

  /** Sends new checkpoints, except during the pause after a failure. Never rejects. */
  deliver(): Promise<void> {
    if (this.now() < this.notBeforeMs) return Promise.resolve();
    this.running ??= this.sendAll()
      .then(() => {
        this.pauseMs = PAUSE_MS;
      })
      .catch(() => {
        // From now, not from the start: an attempt that timed out may have taken longer than the pause.
        this.notBeforeMs = this.now() + this.pauseMs;
        this.pauseMs = Math.min(2 * this.pauseMs, PAUSE_MS_MAX);
      })
      .finally(() => {
        this.running = null;
      });
    return this.running;
  }

  /** The number of checkpoints that the sink has not confirmed yet: all, until the sink has reported its last one. */
  get pending(): number {
    return this.unsentRoots().length;
  }

  private async sendAll(): Promise<void> {
    if (this.lastSent === undefined) this.lastSent = await this.sink.lastSent(this.projectKey);
    for (let next = this.unsentRoots(); next.length > 0; next = this.unsentRoots()) {
      const batch = next.slice(0, CHECKPOINTS_PER_CALL);
      await this.sink.send(batch.map((checkpoint) => this.records.anchorOf(checkpoint)));
      this.lastSent = batch.at(-1) ?? null;
    }
  }

  private unsentRoots(): SignedRoot[] {
    const { lastSent = null } = this;
    return this.records.checkpoints.filter(
      (checkpoint) => this.ownKeys.has(checkpoint.key_id) && isLater(checkpoint, lastSent),
    );
  }
}
