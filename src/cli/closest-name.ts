/** The name closest to `word` by edit distance; null when none is close enough to be a typo. */
export function closestName(word: string, names: readonly string[]): string | null {
  const distanceMax = Math.max(2, Math.floor(word.length / 3));
  const near = names.filter((name) => Math.abs(name.length - word.length) <= distanceMax);
  const [best] = near
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .sort((a, b) => a.distance - b.distance);
  return best === undefined || best.distance > distanceMax ? null : best.name;
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let previousRow = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const currentRow = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const changed = (previousRow[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      currentRow.push(Math.min(changed, (previousRow[column] ?? 0) + 1, (currentRow[column - 1] ?? 0) + 1));
    }
    previousRow = currentRow;
  }
  return previousRow[b.length] ?? 0;
}
