import type { OverlappingWork } from '../../contract/start.js';
import type { ModuleMap } from '../definition/methodology.js';
import { moduleOverlap, suggestWorkOrder } from '../definition/modules.js';
import type { RouteInput } from '../progress/feature-state.js';
import { isHeldByAnother } from './route-edge.js';

/** Claims of other agents on features that share modules with this feature, or that may: their modules are unknown. */
export function overlappingWork(
  input: RouteInput,
  featureId: string,
  claims = claimsOfOthers(input),
): OverlappingWork[] {
  const modules = input.methodology?.modules ?? null;
  return claims.flatMap((claim) => {
    const { count, shared } = moduleOverlap(modules, featureId, claim.feature_id);
    if (count === 0) return [];
    const holder = `${claim.feature_id} (${claim.agent_id} on ${claim.edge})`;
    const says =
      count === null
        ? `unknown whether ${featureId} shares modules with ${holder}: the module map does not name both`
        : `${featureId} and ${holder} both touch ${shared.join(', ')}: ${orderAdvice(modules, featureId, claim)}`;
    return { ...claim, inner_product: count, shared_modules: shared, says };
  });
}

type OpenClaim = Pick<OverlappingWork, 'feature_id' | 'edge' | 'agent_id'>;

export function claimsOfOthers({ rows, request }: RouteInput): OpenClaim[] {
  return rows.flatMap(({ feature, claims }) =>
    [...claims]
      .filter(([, claim]) => isHeldByAnother(claim, request))
      .map(([edge, { agent_id }]) => ({ feature_id: feature.feature_id, edge, agent_id })),
  );
}

function orderAdvice(modules: ModuleMap | null, featureId: string, { feature_id }: OpenClaim): string {
  if (featureId === feature_id) return 'one of the agents should wait';
  const order = suggestWorkOrder(modules, [featureId, feature_id]);
  return `build ${order.shared_modules.join(', ')} first, then ${order.features.join(', then ')}`;
}
