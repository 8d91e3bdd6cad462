import type { DocumentPath } from '../../../yaml/source-position.js';
import { canonicalEdge } from '../edge-name.js';
import type { Topology } from '../methodology.js';
import type { YamlFile } from './yaml-file.js';

/** Finds the edges of a topology by any name: canonical id, transition name, file name. */
export class EdgeNameIndex {
  readonly #byName = new Map<string, string>();
  /** Edges by the asset type that they end at. */
  readonly #byTarget = new Map<string, string[]>();

  constructor(
    { transitions }: Topology,
    /** By edge: the stem of the file that its transition names in `edge_config`. */
    readonly configStems: ReadonlyMap<string, string>,
  ) {
    for (const { edge } of transitions) this.#byName.set(edge, edge);
    for (const { edge, target } of transitions) {
      const asset = canonicalEdge(target);
      this.#byTarget.set(asset, [...(this.#byTarget.get(asset) ?? []), edge]);
    }
    for (const { edge, name } of transitions) this.#add(name, edge);
    for (const [edge, stem] of configStems) this.#add(stem, edge);
  }

  find(name: string): string | null {
    return this.#byName.get(canonicalEdge(name)) ?? null;
  }

  /**
   * The edge of a name. Null if the topology has no such edge: unless the file is built in, a warning says so, and the rest
   * of the file is used.
   */
  resolveOrWarn(name: string, file: YamlFile, path: DocumentPath): string | null {
    const edge = this.find(name);
    if (edge === null && !file.isBuiltIn)
      file.warn(path, `${this.#unknownText(name)} This name is left out.`);
    return edge;
  }

  resolveAllOrWarn(names: readonly string[], file: YamlFile, path: DocumentPath): string[] {
    const edges = names.map((name, index) => this.resolveOrWarn(name, file, [...path, index]));
    return [...new Set(edges.filter((edge) => edge !== null))];
  }

  /**
   * Resolves names of edges or of asset types; an asset type stands for the edges that end there: `cicd` for
   * `code_cicd`.
   */
  resolveEdgesOrTargets(names: readonly string[], file: YamlFile, path: DocumentPath): string[] {
    const edges = names.flatMap((name, index) => {
      const edge = this.find(name);
      const matchingEdges = edge === null ? this.#byTarget.get(canonicalEdge(name)) : [edge];
      return matchingEdges ?? this.resolveOrWarn(name, file, [...path, index]) ?? [];
    });
    return [...new Set(edges)];
  }

  #unknownText(name: string): string {
    const knownEdges = [...new Set(this.#byName.values())].join(', ');
    return `The topology has no edge ${JSON.stringify(name)}; known edges: ${knownEdges}.`;
  }

  #add(name: string, edge: string): void {
    const canonicalName = canonicalEdge(name);
    if (!this.#byName.has(canonicalName)) this.#byName.set(canonicalName, edge);
  }
}

/** The name of a file without its folder and extension: `tdd` for `edge_params/tdd.yml`. */
export const fileStem = (path: string): string => (path.split('/').at(-1) ?? path).replace(/\.ya?ml$/, '');
