import type { SliceableWork } from '../../core/sliceable-work.js';
import type { Environment } from './environment.js';

/** How long work may hold the event loop at a time: a small part of an acceptable request latency. */
export const SLICE_MS = 5;

/**
 * Runs long work in slices, and yields to the event loop between two slices. A slice ends at the first pause after
 * `SLICE_MS`.
 */
export async function runInSlices<T>(
  work: SliceableWork<T>,
  { clock, yieldToEventLoop }: Pick<Environment, 'clock' | 'yieldToEventLoop'>,
): Promise<T> {
  for (let startMs = clock.monotonicMs(); ; ) {
    const pause = work.next();
    if (pause.done === true) return pause.value;
    if (clock.monotonicMs() - startMs < SLICE_MS) continue;
    await yieldToEventLoop();
    startMs = clock.monotonicMs();
  }
}
