/** Merges sorted, paged sources into one sorted sequence. The next page of a source is read only when needed. */
export async function* mergeSorted<T>(
  sources: readonly AsyncIterable<readonly T[]>[],
  isBefore: (a: T, b: T) => boolean,
): AsyncGenerator<T> {
  const cursors = await Promise.all(sources.map((source) => PageCursor.open(source)));
  for (;;) {
    let least: PageCursor<T> | null = null;
    for (const cursor of cursors) {
      if (cursor.item === undefined) continue;
      if (least?.item === undefined || isBefore(cursor.item, least.item)) least = cursor;
    }
    if (least?.item === undefined) return;
    yield least.item;
    await least.advance();
  }
}

class PageCursor<T> {
  private page: readonly T[] = [];
  private index = -1;

  private constructor(private readonly pages: AsyncIterator<readonly T[]>) {}

  static async open<T>(source: AsyncIterable<readonly T[]>): Promise<PageCursor<T>> {
    const cursor = new PageCursor(source[Symbol.asyncIterator]());
    await cursor.advance();
    return cursor;
  }

  get item(): T | undefined {
    return this.page[this.index];
  }

  async advance(): Promise<void> {
    this.index += 1;
    while (this.index >= this.page.length) {
      const next = await this.pages.next();
      if (next.done === true) return;
      this.page = next.value;
      this.index = 0;
    }
  }
}
