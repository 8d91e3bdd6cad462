/**
 * Dependants per id. Most ids have at most one dependant, so a single dependant is stored as a string: a set for each id
 * would cost hundreds of megabytes in a plan of a million tasks.
 */
export class DependantIndex {
  readonly #dependants = new Map<string, string | Set<string>>();

  add(id: string, dependant: string): void {
    const existing = this.#dependants.get(id);
    if (existing === undefined) this.#dependants.set(id, dependant);
    else if (typeof existing !== 'string') existing.add(dependant);
    else if (existing !== dependant) this.#dependants.set(id, new Set([existing, dependant]));
  }

  remove(id: string, dependant: string): void {
    const existing = this.#dependants.get(id);
    if (existing === dependant) this.#dependants.delete(id);
    else if (typeof existing === 'object' && existing.delete(dependant) && existing.size === 0)
      this.#dependants.delete(id);
  }

  dependantsOf(id: string): Iterable<string> {
    const existing = this.#dependants.get(id);
    if (existing === undefined) return [];
    return typeof existing === 'string' ? [existing] : existing;
  }
}
