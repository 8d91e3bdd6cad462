import type { Genesis } from '../../client/index.js';
import type { AutoEdge, AutoFacts } from '../../core/engine/auto-step.js';
import { edgePlan } from '../../core/engine/edge-plan.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { Workspace } from '../../workspace/workspace.js';
import { unwrapReply } from '../replies.js';
import { openEdges } from './open-edges.js';
import { readProject } from './workspace-services.js';

export interface AutoScope {
  readonly workspace: Workspace;
  readonly genesis: Genesis;
  readonly agent_id: string;
  readonly agent_role: string | undefined;
  readonly feature_id: string | null;
}

type ProjectFacts = Pick<
  AutoFacts,
  'unfinished' | 'requested' | 'recommended' | 'escalations' | 'nothing_recommended'
>;

/** Maximum number of features whose recommendations are queried one by one if the best recommendation cannot be run. */
const FEATURES_QUERIED_MAX = 100;

/** Reads the facts that decide the next step of `gen iterate --auto`. Writes nothing. */
export async function readAutoFacts(scope: AutoScope, setAside: ReadonlySet<string>): Promise<ProjectFacts> {
  const { genesis, workspace, agent_id, agent_role, feature_id } = scope;
  const { methodology, features } = await readProject(workspace, genesis);
  const describe = (name: { feature_id: string; edge: string }): AutoEdge => {
    const feature = features.find((one) => one.feature_id === name.feature_id);
    const isKnown = methodology.topology.transitions.some(({ edge }) => edge === name.edge);
    const plan = feature === undefined || !isKnown ? null : edgePlan(methodology, feature, name.edge);
    return { ...name, has_constructor: plan !== null && plan.construct !== null };
  };
  const startFor = async (feature: string | undefined) =>
    unwrapReply(await genesis.methodology.start({ agent_id, ...withoutUndefined({ agent_role, feature }) }));
  const best = await startFor(feature_id ?? undefined);
  const { escalations, skipped } = best;
  const recommended = edgesOf(best).map(describe);
  const isUsable = ({ feature_id: feature, edge, has_constructor }: AutoEdge): boolean =>
    has_constructor && !setAside.has(edgeSubject(feature, edge));
  if (feature_id === null && recommended.length > 0 && !recommended.some(isUsable)) {
    // Skipped features are not queried, because a query that names a feature recommends it even if it is skipped.
    const excludedFeatures = new Set([best.feature, ...skipped.map(({ feature }) => feature)]);
    const others = features.map((one) => one.feature_id).filter((id) => !excludedFeatures.has(id));
    for (const other of others.slice(0, FEATURES_QUERIED_MAX))
      recommended.push(...edgesOf(await startFor(other)).map(describe));
  }
  const { requested, unfinished } = await openEdges(genesis, agent_id);
  // An edge that waits for a review cannot continue.
  const isDecided = ({ feature_id: feature, edge }: AutoEdge): boolean =>
    !escalations.some(
      (one) =>
        (one.kind === 'review' || one.kind === 'escalation') &&
        one.feature_id === feature &&
        one.edge === edge,
    );
  return {
    unfinished: unfinished.map(describe).filter(isDecided),
    requested: requested.map(describe),
    recommended,
    escalations,
    nothing_recommended:
      best.feature === null ? { says: best.reasons.at(-1) ?? 'no work is available', next: best.next } : null,
  };
}

const edgesOf = ({ feature, edge }: { feature: string | null; edge: string | null }) =>
  feature === null || edge === null ? [] : [{ feature_id: feature, edge }];
