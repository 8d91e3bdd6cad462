import { ownValue } from '../../own-value.js';
import { canonicalEdge } from './edge-name.js';
import type { Methodology, Profile } from './methodology.js';
import { profileEdges } from './profile.js';

/**
 * Required human checks of the edge's file that do not count under the profile, because `human` is not among the evaluators
 * of the profile. Empty if a person has to approve the result anyway.
 */
function humanChecksDroppedByProfile(
  { edges }: Pick<Methodology, 'edges'>,
  profile: Profile,
  edge: string,
): string[] {
  const id = canonicalEdge(edge);
  const config = ownValue(edges, id);
  const types = ownValue(profile.evaluators_by_edge, id) ?? profile.evaluators;
  if (config === undefined || types.includes('human')) return [];
  if (config.human_required || profile.human_required_on_all_edges) return [];
  return config.checklist
    .filter(({ type, required }) => type === 'human' && required !== false)
    .map(({ name }) => name);
}

/** The human checks that a profile leaves out on any of the edges that it requires, as sentences; null if there are none. */
export function omittedHumanChecksOfProfile(
  methodology: Pick<Methodology, 'edges' | 'topology'>,
  profile: Profile,
): string | null {
  const required = profileEdges(profile, methodology.topology).filter(({ optional }) => !optional);
  const names = required.flatMap(({ edge }) => {
    const checks = humanChecksDroppedByProfile(methodology, profile, edge);
    return checks.length === 0 ? [] : [`${checks.join(', ')} (${edge})`];
  });
  return names.length === 0 ? null : leftOutText(profile, names);
}

/** The human checks that a profile leaves out on one edge, as sentences; null if there are none. */
export function omittedHumanChecksOfEdge(
  methodology: Pick<Methodology, 'edges'>,
  profile: Profile,
  edge: string,
): string | null {
  const checks = humanChecksDroppedByProfile(methodology, profile, edge);
  return checks.length === 0 ? null : leftOutText(profile, checks);
}

const leftOutText = ({ name }: Profile, checks: readonly string[]): string =>
  `The profile ${name} leaves out human checks: ${checks.join(', ')}. To require them, add human to the evaluators of the profile.`;
