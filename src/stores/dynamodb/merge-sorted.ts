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
    const open = cursors.filter(({ next }) => !next.done);
    if (open.length === 0) return;
    const least = open.reduce((a, b) => (isBefore(b.next.value, a.next.value) ? b : a));
    yield least.next.value;
    least.next = await least.items.next();
  }
}

async function* itemsOf<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const page of pages) yield* page;
}
