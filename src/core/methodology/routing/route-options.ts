import type { OverlappingWork, RouteAdvice } from '../../contract/start.js';
import type { ProjectProgress } from '../progress/project-progress.js';
import { chooseEdge, type RouteOption } from './route-edge.js';
import { claimsOfOthers, overlappingWork } from './route-overlap.js';
import { rankOptions } from './route-ranking.js';

/** The features that can continue, each at its next step. */
interface RouteOptions {
  /** Best first, whether or not their modules are in use. */
  readonly ranked: readonly RouteOption[];
  /** The options that shared modules do not block. */
  readonly available: readonly RouteOption[];
  /** The work of other agents that overlaps, or may overlap, with the other options. */
  readonly overlapping: readonly OverlappingWork[];
  readonly skipped: RouteAdvice['skipped'];
}

export function routeOptions(project: ProjectProgress): RouteOptions {
  const { request, methodology, features } = project;
  const skipped: RouteAdvice['skipped'][number][] = [];
  const options: RouteOption[] = [];
  for (const progress of features.values()) {
    const isRequested = request.feature === undefined || request.feature === progress.row.feature.feature_id;
    if (progress.isComplete || !isRequested) continue;
    const choice = chooseEdge(project, progress);
    skipped.push(...choice.skipped);
    if (choice.option !== null) options.push(choice.option);
  }
  const ranked = rankOptions(options);
  const claims = claimsOfOthers(project);
  const available: RouteOption[] = [];
  const overlapping: OverlappingWork[] = [];
  for (const option of ranked) {
    const { feature_id } = option.progress.row.feature;
    const parallel = overlappingWork(project, feature_id, claims);
    const overlap = parallel.find(({ inner_product }) => (inner_product ?? 0) > 0);
    if (overlap === undefined || !methodology?.parallelism.enforce) available.push(option);
    else {
      overlapping.push(...parallel);
      skipped.push({ feature: feature_id, edge: null, says: overlap.says });
    }
  }
  return { ranked, available, overlapping, skipped };
}
