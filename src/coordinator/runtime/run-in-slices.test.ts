import { expect, it } from 'vitest';
import type { SliceableWork } from '../../core/sliceable-work.js';
import { runInSlices, SLICE_MS } from './run-in-slices.js';

function* workWithPauses(count: number): SliceableWork<string> {
  for (let pause = 0; pause < count; pause += 1) yield;
  return 'done';
}

it('yields to the event loop after each slice, and not before', async () => {
  let nowMs = 0;
  let yields = 0;
  const monotonicMs = () => {
    nowMs += SLICE_MS / 2;
    return nowMs;
  };
  const clock = { monotonicMs } as Parameters<typeof runInSlices>[1]['clock'];
  const yieldToEventLoop = async () => {
    yields += 1;
  };
  expect(await runInSlices(workWithPauses(10), { clock, yieldToEventLoop: yieldToEventLoop })).toBe('done');
  expect(yields).toBe(5);
});
