import { expect, it } from 'vitest';
import type { Steps } from '../core/steps.js';
import { inSlices, SLICE_MS } from './in-slices.js';

function* steps(count: number): Steps<string> {
  for (let step = 0; step < count; step += 1) yield;
  return 'done';
}

it('lets others run whenever a slice is over, and not before', async () => {
  let now_ms = 0;
  let breaths = 0;
  const monotonicMs = () => {
    now_ms += SLICE_MS / 2;
    return now_ms;
  };
  const clock = { monotonicMs } as Parameters<typeof inSlices>[1]['clock'];
  const breathe = async () => {
    breaths += 1;
  };
  expect(await inSlices(steps(10), { clock, breathe })).toBe('done');
  expect(breaths).toBe(5);
});
