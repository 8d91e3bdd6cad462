/**
 * A map that usually has at most one entry. A single entry is kept in two fields: adding it to a `Map` and deleting it
 * again for every command costs more than deciding the command.
 */
export class SingleEntryMap<K, V> {
  private onlyKey: K | undefined;
  private onlyValue: V | undefined;
  private readonly entries = new Map<K, V>();

  get(key: K): V | undefined {
    if (this.onlyValue !== undefined) return this.onlyKey === key ? this.onlyValue : undefined;
    return this.entries.size === 0 ? undefined : this.entries.get(key);
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(key: K, value: V): void {
    const isOnly = this.entries.size === 0 && (this.onlyValue === undefined || this.onlyKey === key);
    if (isOnly) {
      this.onlyKey = key;
      this.onlyValue = value;
      return;
    }
    if (this.onlyValue !== undefined) this.entries.set(this.onlyKey as K, this.onlyValue);
    this.onlyValue = undefined;
    this.entries.set(key, value);
  }

  delete(key: K): void {
    if (this.onlyValue === undefined) this.entries.delete(key);
    else if (this.onlyKey === key) this.onlyValue = undefined;
  }

  *[Symbol.iterator](): Generator<[K, V]> {
    if (this.onlyValue === undefined) yield* this.entries;
    else yield [this.onlyKey as K, this.onlyValue];
  }

  copy(): SingleEntryMap<K, V> {
    const copy = new SingleEntryMap<K, V>();
    for (const [key, value] of this) copy.set(key, value);
    return copy;
  }
}
