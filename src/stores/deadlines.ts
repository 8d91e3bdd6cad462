/** Something that runs out. The heap keeps its place in `heap_index`; -1: it is not in the heap. */
export interface Deadline {
  until_ms: number;
  heap_index: number;
}

/** The earliest deadline first. A deadline that moves is moved in place, so renewals leave nothing behind. */
export class DeadlineHeap<T extends Deadline> {
  private readonly items: T[] = [];

  earliest(): T | undefined {
    return this.items[0];
  }

  add(item: T): void {
    this.items.push(item);
    this.rise(item, this.items.length - 1);
  }

  /** To be called after `until_ms` of a member changed. */
  moved(item: T): void {
    this.rise(item, item.heap_index);
    this.sink(item, item.heap_index);
  }

  remove(item: T): void {
    const index = item.heap_index;
    const last = this.items.pop() as T;
    item.heap_index = -1;
    if (last === item) return;
    last.heap_index = index;
    this.items[index] = last;
    this.moved(last);
  }

  private rise(item: T, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.items[above] as T;
      if (parent.until_ms <= item.until_ms) break;
      this.place(parent, index);
      index = above;
    }
    this.place(item, index);
  }

  private sink(item: T, from: number): void {
    const { items } = this;
    let index = from;
    for (let below = 2 * index + 1; below < items.length; below = 2 * index + 1) {
      const left = items[below] as T;
      const right = items[below + 1];
      const child = right !== undefined && right.until_ms < left.until_ms ? right : left;
      if (item.until_ms <= child.until_ms) break;
      const childIndex = child.heap_index;
      this.place(child, index);
      index = childIndex;
    }
    this.place(item, index);
  }

  private place(item: T, index: number): void {
    this.items[index] = item;
    item.heap_index = index;
  }
}
