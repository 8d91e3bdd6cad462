import { setTimeout as sleep } from 'node:timers/promises';
import { type Genesis, isProblem } from '../../client/index.js';
import { cursorAt } from '../../coordinator/queries/cursor.js';
import type { EventEnvelope } from '../../core/events/envelope.js';

/** Maximum wait for the last events, in case the stream has broken. */
const CATCH_UP_MS = 10_000;

/** Passes on each event of the project after a position, once and in order. */
export class ProjectFollower {
  private readonly stopController = new AbortController();
  private onPosition = (): void => {};

  constructor(
    private readonly genesis: Genesis,
    private position: number,
    private readonly onEvent: (event: EventEnvelope) => void,
  ) {}

  /** Follows until `stop`. Returns why the stream ended before that; null if it did not. */
  async follow(): Promise<string | null> {
    const after = cursorAt(this.position);
    try {
      for await (const { event } of this.genesis.follow({ after }, { signal: this.stopController.signal })) {
        this.onEvent(event);
        this.position = event.position;
        this.onPosition();
      }
      return null;
    } catch (error) {
      return this.stopController.signal.aborted ? null : (error as Error).message;
    }
  }

  /** Waits until all events that the log has now are passed on. */
  async catchUp(): Promise<void> {
    const status = await this.genesis.status();
    if (isProblem(status) || this.position >= status.position) return;
    const waitController = new AbortController();
    const caughtUp = new Promise<void>((resolve) => {
      this.onPosition = () => {
        if (this.position >= status.position) resolve();
      };
    });
    const timeout = sleep(CATCH_UP_MS, undefined, { signal: waitController.signal }).catch(() => {});
    await Promise.race([caughtUp, timeout]);
    waitController.abort();
  }

  stop(): void {
    this.stopController.abort();
  }
}
