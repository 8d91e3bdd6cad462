/** The name that was most likely meant; null: none is near. */
export function nearest(word: string, names: readonly string[]): string | null {
  const room = Math.max(2, Math.floor(word.length / 3));
  let found: string | null = null;
  let least = room + 1;
  for (const name of names) {
    const far = Math.abs(name.length - word.length) > room ? least : editsBetween(word, name);
    if (far < least) [found, least] = [name, far];
  }
  return found;
}

/** How many letters must be put in, left out or changed to make one word of the other. */
function editsBetween(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row += 1) {
    const line = [row];
    for (let at = 1; at <= b.length; at += 1) {
      const changed = (above[at - 1] ?? 0) + (a[row - 1] === b[at - 1] ? 0 : 1);
      line.push(Math.min(changed, (above[at] ?? 0) + 1, (line[at - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[b.length] ?? 0;
}
