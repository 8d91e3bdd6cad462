import type { OverlappingWork, RouteAdvice } from '../../contract/start.js';
import type { ProjectProgress } from '../progress/project-progress.js';
import { chooseEdge, type RouteCandidate } from './route-edge.js';
import { openClaims, overlappingWork } from './route-overlap.js';
import { rankCandidates } from './route-ranking.js';

/** The features that can continue, each at its next step. */
interface RouteCandidates {
  /** Best first, whether or not their modules are in use. */
  readonly ranked: readonly RouteCandidate[];
  /** The candidates that shared modules do not block. */
  readonly available: readonly RouteCandidate[];
  /** The work of others that keeps the remaining ones back. */
  readonly overlapping: readonly OverlappingWork[];
  readonly skipped: RouteAdvice['skipped'];
}

export function routeCandidates(project: ProjectProgress): RouteCandidates {
  const { request, methodology, features } = project;
  const skipped: RouteAdvice['skipped'][number][] = [];
  const candidates: RouteCandidate[] = [];
  for (const progress of features.values()) {
    const isRequested = request.feature === undefined || request.feature === progress.row.feature.feature_id;
    if (progress.isComplete || !isRequested) continue;
    const choice = chooseEdge(project, progress);
    skipped.push(...choice.skipped);
    if (choice.candidate !== null) candidates.push(choice.candidate);
  }
  const ranked = rankCandidates(candidates);
  const claims = openClaims(project);
  const available: RouteCandidate[] = [];
  const overlapping: OverlappingWork[] = [];
  for (const candidate of ranked) {
    const { feature_id } = candidate.progress.row.feature;
    const parallel = overlappingWork(project, feature_id, claims);
    const overlap = parallel.find(({ inner_product }) => (inner_product ?? 0) > 0);
    if (overlap === undefined || !methodology?.parallelism.enforce) available.push(candidate);
    else {
      overlapping.push(...parallel);
      skipped.push({ feature: feature_id, edge: null, says: overlap.says });
    }
  }
  return { ranked, available, overlapping, skipped };
}
