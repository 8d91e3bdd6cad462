import type { ModuleMap } from '../definition/methodology.js';
import { innerProduct, suggestWorkOrder } from '../definition/modules.js';
import type { RouteInput } from '../progress/route-input.js';
import type { OverlappingWork } from './route.js';
import { isHeldByAnother } from './route-edge.js';

/** Open features of other agents whose overlap with this one is not zero, or unknown. */
export function overlappingWork(input: RouteInput, featureId: string): OverlappingWork[] {
  const modules = input.methodology?.modules ?? null;
  return openClaims(input).flatMap((claim) => {
    const { count, shared } = innerProduct(modules, featureId, claim.feature_id);
    if (count === 0) return [];
    const message =
      count === null
        ? unknownOverlapMessage(featureId, claim)
        : sharedModulesMessage(modules, featureId, claim, shared);
    return { ...claim, inner_product: count, shared_modules: shared, says: message };
  });
}

type OpenClaim = Pick<OverlappingWork, 'feature_id' | 'edge' | 'agent_id'>;

export function openClaims({ rows, request }: RouteInput): OpenClaim[] {
  return rows.flatMap(({ vector, claims }) =>
    [...claims]
      .filter(([, claim]) => isHeldByAnother(claim, request))
      .map(([edge, { agent_id }]) => ({ feature_id: vector.feature_id, edge, agent_id })),
  );
}

const unknownOverlapMessage = (featureId: string, { feature_id, edge, agent_id }: OpenClaim): string =>
  `unknown whether ${featureId} shares modules with ${feature_id} (${agent_id} on ${edge}): the module map does not name both`;

function sharedModulesMessage(
  modules: ModuleMap | null,
  featureId: string,
  { feature_id, edge, agent_id }: OpenClaim,
  shared: readonly string[],
): string {
  const overlap = `${featureId} and ${feature_id} (${agent_id} on ${edge}) both touch ${shared.join(', ')}`;
  if (featureId === feature_id) return `${overlap}: one of you should wait`;
  const order = suggestWorkOrder(modules, [featureId, feature_id]);
  return `${overlap}: build ${order.shared_modules.join(', ')} first, then ${order.features.join(', then ')}`;
}
