import type { FeatureVector, Methodology, Profile, Topology, VectorType } from './methodology.js';

const BY_VECTOR_TYPE: Readonly<Partial<Record<VectorType, string>>> = {
  discovery: 'minimal',
  spike: 'spike',
  poc: 'poc',
  hotfix: 'hotfix',
};

/** The profile of a vector that names none. */
export function usualProfile(
  vector_type: VectorType,
  profiles: Readonly<Record<string, Profile>>,
  default_profile: string,
): string {
  const usual = BY_VECTOR_TYPE[vector_type];
  return usual !== undefined && Object.hasOwn(profiles, usual) ? usual : default_profile;
}

/** A profile that is gone since a vector named it is replaced by the project's own. */
export function profileOf(m: Methodology, { profile }: Pick<FeatureVector, 'profile'>): Profile {
  const name = Object.hasOwn(m.profiles, profile) ? profile : m.default_profile;
  const found = m.profiles[name];
  if (found === undefined) throw new Error(`a methodology without its default profile ${name}`);
  return found;
}

export interface ProfileEdge {
  readonly edge: string;
  readonly optional: boolean;
}

/** The edges of a profile in the order of work: that of the topology. Both ways of a co-evolution are one edge. */
export function edgesOf(profile: Profile, topology: Topology): readonly ProfileEdge[] {
  const { include, skip, optional } = profile;
  const edges: ProfileEdge[] = [];
  const together = new Set<string>();
  for (const { edge, source, target, edge_type } of topology.transitions) {
    const is_included = include === 'all' || include.includes(edge);
    if (skip.includes(edge) || !(is_included || optional.includes(edge))) continue;
    if (together.has(`${target} ${source}`)) continue;
    if (edge_type === 'co_evolution') together.add(`${source} ${target}`);
    edges.push({ edge, optional: include === 'all' ? optional.includes(edge) : !is_included });
  }
  return edges;
}
