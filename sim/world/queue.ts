export interface Scheduled {
  at_ms: number;
  /** Among events of one moment, the order in which they were asked for. */
  sequence: number;
  readonly label: string;
  readonly task: () => void;
}

const before = (a: Scheduled, b: Scheduled): boolean =>
  a.at_ms < b.at_ms || (a.at_ms === b.at_ms && a.sequence < b.sequence);

/** What is still to happen, soonest first. */
export class EventQueue {
  private readonly heap: Scheduled[] = [];

  get size(): number {
    return this.heap.length;
  }

  push(event: Scheduled): void {
    const { heap } = this;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(event, heap[parent] as Scheduled)) break;
      heap[at] = heap[parent] as Scheduled;
      at = parent;
    }
    heap[at] = event;
  }

  pop(): Scheduled | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Scheduled, heap[child] as Scheduled))
        child += 1;
      if (!before(heap[child] as Scheduled, last)) break;
      heap[at] = heap[child] as Scheduled;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
