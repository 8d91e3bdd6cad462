import type { ModuleMap } from './methodology.js';
import { innerProduct, suggestOrder } from './modules.js';
import type { RouteQuestion, SharedWork } from './route.js';
import { isAnothers } from './route-edge.js';

/** Features that other agents have open now and that are not known to be free of this one. */
export function sharedWith(question: RouteQuestion, feature_id: string): SharedWork[] {
  const modules = question.methodology?.modules ?? null;
  return openClaims(question).flatMap((claim) => {
    const { count, shared } = innerProduct(modules, feature_id, claim.feature_id);
    if (count === 0) return [];
    const says =
      count === null ? saysUnknown(feature_id, claim) : saysShared(modules, feature_id, claim, shared);
    return { ...claim, inner_product: count, shared_modules: shared, says };
  });
}

type OpenClaim = Pick<SharedWork, 'feature_id' | 'edge' | 'agent_id'>;

export function openClaims({ rows, asked }: RouteQuestion): OpenClaim[] {
  return rows.flatMap(({ vector, claims }) =>
    [...claims]
      .filter(([, claim]) => isAnothers(claim, asked))
      .map(([edge, { agent_id }]) => ({ feature_id: vector.feature_id, edge, agent_id })),
  );
}

const saysUnknown = (mine: string, { feature_id, edge, agent_id }: OpenClaim): string =>
  `unknown whether ${mine} shares modules with ${feature_id} (${agent_id} on ${edge}): the module map does not name both`;

function saysShared(
  modules: ModuleMap | null,
  mine: string,
  { feature_id, edge, agent_id }: OpenClaim,
  shared: readonly string[],
): string {
  const both = `${mine} and ${feature_id} (${agent_id} on ${edge}) both touch ${shared.join(', ')}`;
  if (mine === feature_id) return `${both}: one of you should wait`;
  const order = suggestOrder(modules, [mine, feature_id]);
  return `${both}: build ${order.shared_modules.join(', ')} first, then ${order.features.join(', then ')}`;
}
