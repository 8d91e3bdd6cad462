import type { StepGenerator } from '../../core/steps.js';
import type { Environment } from './environment.js';

/** How long work may hold the event loop at a time: a small part of an acceptable request latency. */
export const SLICE_MS = 5;

/** Runs long work in slices, and yields to the event loop between two slices. */
export async function runInSlices<T>(
  steps: StepGenerator<T>,
  { clock, yieldToEventLoop }: Pick<Environment, 'clock' | 'yieldToEventLoop'>,
): Promise<T> {
  for (let startMs = clock.monotonicMs(); ; ) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (clock.monotonicMs() - startMs < SLICE_MS) continue;
    await yieldToEventLoop();
    startMs = clock.monotonicMs();
  }
}
