import type { SliceableWork } from './sliceable-work.js';

/** Number of items sorted between two pauses, which takes well under a millisecond. */
const RUN_LENGTH = 1024;

/** Merge sort, for lists too long to sort without a pause. */
export function* sortInSlices<T>(items: readonly T[], compare: (a: T, b: T) => number): SliceableWork<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += RUN_LENGTH) {
    runs.push(items.slice(at, at + RUN_LENGTH).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergeInSlices(runs[at] ?? [], runs[at + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeInSlices<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
): SliceableWork<T[]> {
  const merged: T[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const isLeft = r === right.length || (l < left.length && compare(left[l] as T, right[r] as T) <= 0);
    merged.push((isLeft ? left[l++] : right[r++]) as T);
    if (merged.length % RUN_LENGTH === 0) yield;
  }
  return merged;
}
