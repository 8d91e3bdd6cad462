import type { VectorType } from '../../contract/values.js';
import { ownValue } from '../../own-value.js';
import type { Feature, Methodology, Profile, Topology } from './methodology.js';

const PROFILE_BY_VECTOR_TYPE: Readonly<Partial<Record<VectorType, string>>> = {
  discovery: 'minimal',
  spike: 'spike',
  poc: 'poc',
  hotfix: 'hotfix',
};

/** The profile of a feature whose definition names no profile. */
export function defaultProfileFor(
  vectorType: VectorType,
  profiles: Readonly<Record<string, Profile>>,
  defaultProfile: string,
): string {
  const preferred = ownValue(PROFILE_BY_VECTOR_TYPE, vectorType);
  return preferred !== undefined && Object.hasOwn(profiles, preferred) ? preferred : defaultProfile;
}

/** Profile of a feature; the project's default if the named profile no longer exists. */
export function profileOf(methodology: Methodology, { profile }: Pick<Feature, 'profile'>): Profile {
  const { profiles, default_profile } = methodology;
  const definition = ownValue(profiles, profile) ?? ownValue(profiles, default_profile);
  if (definition === undefined) throw new Error(`The methodology has no default profile ${default_profile}.`);
  return definition;
}

/** Edges of a profile in the order of the topology. The two directions of a co-evolution count as one edge. */
export function profileEdges(profile: Profile, topology: Topology): { edge: string; optional: boolean }[] {
  const { include, skip, optional } = profile;
  const edges: { edge: string; optional: boolean }[] = [];
  const coEvolvedPairs = new Set<string>();
  for (const { edge, source, target, edge_type } of topology.transitions) {
    const isIncluded = include === 'all' || include.includes(edge);
    if (skip.includes(edge) || !(isIncluded || optional.includes(edge))) continue;
    if (coEvolvedPairs.has(`${target} ${source}`)) continue;
    if (edge_type === 'co_evolution') coEvolvedPairs.add(`${source} ${target}`);
    edges.push({ edge, optional: include === 'all' ? optional.includes(edge) : !isIncluded });
  }
  return edges;
}
