/** A queue that serves tenants in turn: a tenant with many items delays each other tenant by only one item per turn. */
export class TenantQueue<T> {
  private readonly queues = new Map<string, T[]>();

  countOf(tenantId: string): number {
    return this.queues.get(tenantId)?.length ?? 0;
  }

  push(tenantId: string, item: T): void {
    const queue = this.queues.get(tenantId) ?? [];
    queue.push(item);
    this.queues.set(tenantId, queue);
  }

  /** Takes the next item and moves its tenant to the end. */
  next(): T | undefined {
    const [first] = this.queues;
    if (first === undefined) return undefined;
    const [tenantId, queue] = first;
    const item = queue.shift();
    this.queues.delete(tenantId);
    if (queue.length > 0) this.queues.set(tenantId, queue);
    return item;
  }
}
