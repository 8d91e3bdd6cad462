import { effectiveChecklist } from './checklist.js';
import { canonicalEdge } from './edge-name.js';
import type { Feature, Methodology } from './methodology.js';
import { profileEdges, profileOf } from './profile.js';

/**
 * Required checks that the project's default profile has and the feature's profile leaves out, either on this edge or
 * because it skips their edge. An agent chooses the profile of a feature that it spawns, and could avoid these checks by its
 * choice. Agent checks are not listed, because an agent reports them itself.
 */
export function checksOfDefaultProfileOnly(
  project: Methodology,
  feature: Feature,
  edge: string,
): readonly string[] {
  const withDefaultProfile = { ...feature, profile: project.default_profile };
  const featureChecks = new Set(guardedChecks(project, feature, edge));
  const omittedOnEdge = guardedChecks(project, withDefaultProfile, edge).filter(
    (name) => !featureChecks.has(name),
  );
  const omittedWithEdges = skippedEdges(project, feature).flatMap((skippedEdge) =>
    guardedChecks(project, withDefaultProfile, skippedEdge).map((name) => `${skippedEdge}: ${name}`),
  );
  return [...omittedOnEdge, ...omittedWithEdges];
}

/** Required checks that an agent cannot pass by its own report. */
const guardedChecks = (project: Methodology, feature: Feature, edge: string): string[] =>
  effectiveChecklist(project, feature, canonicalEdge(edge))
    .filter(({ type, required }) => required && type !== 'agent')
    .map(({ type, name }) => (type === 'human' ? 'a human check' : name));

/** Edges that the default profile requires and the feature's profile does not. */
function skippedEdges(project: Methodology, feature: Feature): string[] {
  const requiredEdges = (profile: string): string[] =>
    profileEdges(profileOf(project, { profile }), project.topology)
      .filter(({ optional }) => !optional)
      .map(({ edge }) => edge);
  const featureEdges = new Set(requiredEdges(feature.profile));
  return requiredEdges(project.default_profile).filter((edge) => !featureEdges.has(edge));
}
