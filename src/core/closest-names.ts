const NAMES_MAX = 3;
/** Bounds the time of one search: a comparison costs the product of both lengths. */
const COMPARISONS_MAX = 500;

/** At most three names that are close enough to `word` for a typo, nearest first by edit distance. */
export function closestNames(word: string, names: readonly string[]): string[] {
  const distanceMax = Math.max(2, Math.floor(word.length / 3));
  return byLengthDifference(word, names, distanceMax)
    .slice(0, COMPARISONS_MAX)
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .filter(({ distance }) => distance <= distanceMax)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, NAMES_MAX)
    .map(({ name }) => name);
}

/** A suggestion to append to a refusal, with a leading space; empty if no name is similar enough. */
export function didYouMean(word: string, names: readonly string[]): string {
  const near = closestNames(word, names);
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`;
}

/** Names of a similar length, the most similar first: a typo seldom changes the length. */
function byLengthDifference(word: string, names: readonly string[], differenceMax: number): string[] {
  const buckets: string[][] = Array.from({ length: differenceMax + 1 }, () => []);
  for (const name of names) buckets[Math.abs(name.length - word.length)]?.push(name);
  return buckets.flat();
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let previousRow = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const currentRow = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitutionCost = (previousRow[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      currentRow.push(
        Math.min(substitutionCost, (previousRow[column] ?? 0) + 1, (currentRow[column - 1] ?? 0) + 1),
      );
    }
    previousRow = currentRow;
  }
  return previousRow[b.length] ?? 0;
}
