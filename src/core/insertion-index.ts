/** Index of the first item that does not come before the one to insert, by binary search in a sorted list. */
export function insertionIndex<T>(sorted: readonly T[], comesBefore: (item: T) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comesBefore(sorted[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}
