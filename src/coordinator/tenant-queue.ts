/** Waiting items, the tenants in turn: a tenant with many items delays each other tenant by one of them at most. */
export class TenantQueue<T> {
  private readonly queues = new Map<string, T[]>();

  countOf(tenant_id: string): number {
    return this.queues.get(tenant_id)?.length ?? 0;
  }

  push(tenant_id: string, item: T): void {
    const queue = this.queues.get(tenant_id) ?? [];
    queue.push(item);
    this.queues.set(tenant_id, queue);
  }

  /** The tenant whose turn it was goes to the end of the line. */
  next(): T | undefined {
    const [first] = this.queues;
    if (first === undefined) return undefined;
    const [tenant_id, queue] = first;
    const item = queue.shift();
    this.queues.delete(tenant_id);
    if (queue.length > 0) this.queues.set(tenant_id, queue);
    return item;
  }
}
