import type { StepGenerator } from '../core/steps.js';
import type { Environment } from './environment.js';

/** How long work may hold the event loop before others are served: a small part of what a request may wait. */
export const SLICE_MS = 5;

/** Does long work a few milliseconds at a time, and lets everything else that is ready run in between. */
export async function runInSlices<T>(
  steps: StepGenerator<T>,
  { clock, yieldToEventLoop }: Pick<Environment, 'clock' | 'yieldToEventLoop'>,
): Promise<T> {
  for (let beganMs = clock.monotonicMs(); ; ) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (clock.monotonicMs() - beganMs < SLICE_MS) continue;
    await yieldToEventLoop();
    beganMs = clock.monotonicMs();
  }
}
