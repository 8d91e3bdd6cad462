/** Merges sorted, paged sources into one sorted sequence. The next page of a source is read only when needed. */
export async function* mergeSorted<T>(
  sources: readonly AsyncIterable<readonly T[]>[],
  isBefore: (a: T, b: T) => boolean,
): AsyncGenerator<T> {
  const cursors = await Promise.all(
    sources.map(async (source) => {
      const items = itemsOf(source);
      return { items, next: await items.next() };
    }),
  );
  for (;;) {
    const remaining = cursors.filter(({ next }) => !next.done);
    if (remaining.length === 0) return;
    const lowest = remaining.reduce((a, b) => (isBefore(b.next.value, a.next.value) ? b : a));
    yield lowest.next.value;
    lowest.next = await lowest.items.next();
  }
}

async function* itemsOf<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const page of pages) yield* page;
}
