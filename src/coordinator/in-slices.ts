import type { Steps } from '../core/steps.js';
import type { Environment } from './environment.js';

/** How long work may hold the event loop before others are served: a small part of what a request may wait. */
export const SLICE_MS = 5;

/** Does long work a few milliseconds at a time, and lets everything else that is ready run in between. */
export async function inSlices<T>(
  steps: Steps<T>,
  { clock, breathe }: Pick<Environment, 'clock' | 'breathe'>,
): Promise<T> {
  for (let began_ms = clock.monotonicMs(); ; ) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (clock.monotonicMs() - began_ms < SLICE_MS) continue;
    await breathe();
    began_ms = clock.monotonicMs();
  }
}
