interface ScheduledTask {
  at_ms: number;
  /** Order of scheduling; decides among tasks of the same time. */
  sequence: number;
  readonly label: string;
  readonly task: () => void;
}

const isBefore = (a: ScheduledTask, b: ScheduledTask): boolean =>
  a.at_ms < b.at_ms || (a.at_ms === b.at_ms && a.sequence < b.sequence);

/** Scheduled tasks, soonest first. */
export class EventQueue {
  private readonly heap: ScheduledTask[] = [];

  get size(): number {
    return this.heap.length;
  }

  push(event: ScheduledTask): void {
    const { heap } = this;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as ScheduledTask)) break;
      heap[at] = heap[parent] as ScheduledTask;
      at = parent;
    }
    heap[at] = event;
  }

  pop(): ScheduledTask | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as ScheduledTask, heap[child] as ScheduledTask))
        child += 1;
      if (!isBefore(heap[child] as ScheduledTask, last)) break;
      heap[at] = heap[child] as ScheduledTask;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
