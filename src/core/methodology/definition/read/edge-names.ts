import { canonicalEdge } from '../edge-name.js';
import type { Topology } from '../methodology.js';

/** Finds the edges of a topology by any name: canonical id, transition name, file name. */
export class EdgeNameIndex {
  readonly #byName = new Map<string, string>();

  constructor(
    topology: Topology,
    /** By edge: stem of the file that its transition names. */
    readonly configStems: ReadonlyMap<string, string>,
  ) {
    const { transitions } = topology;
    for (const { edge } of transitions) this.#byName.set(edge, edge);
    for (const { edge, name } of transitions) this.#add(name, edge);
    for (const [edge, stem] of configStems) this.#add(stem, edge);
  }

  /** Null if the topology has no such edge. */
  find(name: string): string | null {
    return this.#byName.get(canonicalEdge(name)) ?? null;
  }

  get all(): readonly string[] {
    return [...new Set(this.#byName.values())];
  }

  #add(name: string, edge: string): void {
    const spelt = canonicalEdge(name);
    if (!this.#byName.has(spelt)) this.#byName.set(spelt, edge);
  }
}

/** `edge_params/tdd.yml` → `tdd`. */
export const fileStem = (path: string): string => (path.split('/').at(-1) ?? path).replace(/\.ya?ml$/, '');
