/**
 * Who names whom. Most ids are named by one other at most, so a single name is kept bare:
 * a set each would cost a plan of a million tasks hundreds of megabytes.
 */
export class NameIndex {
  readonly #names = new Map<string, string | Set<string>>();

  add(id: string, name: string): void {
    const held = this.#names.get(id);
    if (held === undefined) this.#names.set(id, name);
    else if (typeof held !== 'string') held.add(name);
    else if (held !== name) this.#names.set(id, new Set([held, name]));
  }

  remove(id: string, name: string): void {
    const held = this.#names.get(id);
    if (held === name) this.#names.delete(id);
    else if (typeof held === 'object' && held.delete(name) && held.size === 0) this.#names.delete(id);
  }

  of(id: string): Iterable<string> {
    const held = this.#names.get(id);
    if (held === undefined) return [];
    return typeof held === 'string' ? [held] : held;
  }
}
