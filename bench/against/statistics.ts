export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** How `after` compares with `before`, round by round: the median ratio, the lowest and the highest. */
export function ratioOf(before: readonly number[], after: readonly number[]) {
  const ratios = before.map((value, round) => (after[round] ?? Number.NaN) / value);
  return { ratio: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
}

export const spreadText = (lowest: number, highest: number): string =>
  `${lowest.toFixed(2)}–${highest.toFixed(2)}`;
