import { setTimeout as sleep } from 'node:timers/promises';
import { StoreBroken, StoreUncertain } from './store.js';

/** How long a commit is retried, counted from its first failure because the first attempt itself may take long. */
const RETRY_MS = 10_000;
const PAUSE_MS = { first: 20, longest: 1_000 };

interface SendFailures {
  /** The commit was sent, and may have happened. */
  isReplyLost(error: unknown): boolean;
  /** Nothing happened, and a retry may succeed. */
  isRetryable(error: unknown): boolean;
  /** The error of a commit that did not happen. */
  toStoreError(error: unknown): unknown;
}

/**
 * Sends a commit until its outcome is known, or `RETRY_MS` have passed. The database keeps the outcome of each batch
 * under its id for a while, so a batch whose reply was lost takes effect once, however often it is sent.
 */
export async function sendOnce<T>(
  database: string,
  send: () => Promise<T>,
  { isReplyLost, isRetryable, toStoreError }: SendFailures,
): Promise<T> {
  let untilMs = Number.POSITIVE_INFINITY;
  let wasReplyLost = false;
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.longest)) {
    try {
      return await send();
    } catch (error) {
      if (error instanceof StoreBroken) throw error;
      wasReplyLost ||= isReplyLost(error);
      if (!wasReplyLost && !isRetryable(error)) throw toStoreError(error);
      untilMs = Math.min(untilMs, performance.now() + RETRY_MS);
      if (performance.now() >= untilMs) {
        throw wasReplyLost
          ? new StoreUncertain(
              `The connection to ${database} was lost before the outcome of a commit was known.`,
            )
          : toStoreError(error);
      }
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}
