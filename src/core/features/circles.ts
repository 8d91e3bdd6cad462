/** Each circle once, beginning and ending with the same name. Walked without recursion: a chain may be long. */
export function circlesAmong(dependsOn: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const placeOf = new Map<string, number>();
  for (const start of dependsOn.keys()) {
    const path: { readonly name: string; next: number }[] = done.has(start) ? [] : [{ name: start, next: 0 }];
    for (let here = path.at(-1); here !== undefined; here = path.at(-1)) {
      placeOf.set(here.name, path.length - 1);
      const there = dependsOn.get(here.name)?.[here.next];
      here.next += 1;
      if (there === undefined) {
        done.add(here.name);
        placeOf.delete(here.name);
        path.pop();
        continue;
      }
      const from = placeOf.get(there);
      if (from !== undefined) circles.push([...path.slice(from).map(({ name }) => name), there]);
      else if (!done.has(there) && dependsOn.has(there)) path.push({ name: there, next: 0 });
    }
  }
  return circles;
}
