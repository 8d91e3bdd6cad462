/** A heap member that expires at `until_ms`. The heap maintains the other fields. */
export interface Deadline {
  until_ms: number;
  heap_index: number;
  /** The deadline by which the heap has sorted this member: never later than `until_ms`. */
  heapKeyMs: number;
}

/**
 * A min-heap of deadlines. A changed deadline is updated in place, so renewals leave no stale entries. A member whose
 * deadline moved later is re-sorted only when it reaches the top, so a renewal itself sorts nothing.
 */
export class DeadlineHeap<T extends Deadline> {
  private readonly items: T[] = [];

  /** The member with the earliest deadline. Members at the top whose deadline has moved are re-sorted first. */
  earliest(): T | undefined {
    for (;;) {
      const first = this.items[0];
      if (first === undefined || first.heapKeyMs === first.until_ms) return first;
      first.heapKeyMs = first.until_ms;
      this.siftDown(first, 0);
    }
  }

  add(item: T): void {
    item.heapKeyMs = item.until_ms;
    this.items.push(item);
    this.siftUp(item, this.items.length - 1);
  }

  /** Must be called after `until_ms` of a member changed. */
  update(item: T): void {
    if (item.until_ms >= item.heapKeyMs) return;
    item.heapKeyMs = item.until_ms;
    this.siftUp(item, item.heap_index);
  }

  remove(item: T): void {
    const index = item.heap_index;
    const last = this.items.pop() as T;
    if (last === item) return;
    this.siftUp(last, index);
    this.siftDown(last, last.heap_index);
  }

  private siftUp(item: T, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.items[above] as T;
      if (parent.heapKeyMs <= item.heapKeyMs) break;
      this.putAt(parent, index);
      index = above;
    }
    this.putAt(item, index);
  }

  private siftDown(item: T, from: number): void {
    const { items } = this;
    let index = from;
    for (let below = 2 * index + 1; below < items.length; below = 2 * index + 1) {
      const left = items[below] as T;
      const right = items[below + 1];
      const child = right !== undefined && right.heapKeyMs < left.heapKeyMs ? right : left;
      if (item.heapKeyMs <= child.heapKeyMs) break;
      const childIndex = child.heap_index;
      this.putAt(child, index);
      index = childIndex;
    }
    this.putAt(item, index);
  }

  private putAt(item: T, index: number): void {
    this.items[index] = item;
    item.heap_index = index;
  }
}
