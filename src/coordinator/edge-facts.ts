import type { Decision, EdgeFacts, SharedClaim } from '../core/claims/commands.js';
import type { Head } from '../core/claims/head.js';
import { HUMAN_ROLE } from '../core/claims/human-approval.js';
import { edgePathOf } from '../core/features/edge-path.js';
import type { Methodology } from '../core/graph/methodology.js';
import { innerProduct, touchedModules } from '../core/graph/modules.js';
import { profileEdges, profileOf } from '../core/graph/profile.js';
import { subjectKeys, subjectKindOf } from '../core/subject.js';
import type { DecisionView } from './decision-view.js';
import type { TransactionBuilder } from './transaction-builder.js';

/** Who works where one agent does, and in which role unless it names one. */
export const SINGLE_AGENT = { agent_id: 'primary', agent_role: 'full_stack' } as const;

/** Others whose modules are shared are named, but not without bound. */
const SHARED_NAMED_MAX = 20;
const EDGE_SUBJECT = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}#[a-z][a-z0-9_]{0,99}$/;

/**
 * Why an edge cannot be claimed by anybody, in a sentence; null: it can. A project that was never configured knows
 * edges by their names alone, since features then come and go with those who work on them.
 */
export function unknownEdgeReason(view: DecisionView, subject: string): string | null {
  if (!EDGE_SUBJECT.test(subject))
    return `${subject} is no edge of a feature: expected as REQ-F-AUTH-001#design_code.`;
  const { methodology } = view;
  if (methodology === null) return null;
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const { topology } = methodology;
  if (!topology.transitions.some((transition) => transition.edge === edge)) {
    const known = topology.transitions.map((transition) => transition.edge).join(', ');
    return `The topology of this project has no edge ${edge}. It has ${known}.`;
  }
  const vector = view.feature(feature_id);
  if (vector === null) {
    return `There is no feature ${feature_id}. Begin it: gen spawn --type feature --id ${feature_id} --reason WHY. Or write features/active/${feature_id}.yml, and run gen init again.`;
  }
  const profile = profileOf(methodology, vector);
  if (profileEdges(profile, topology).some((included) => included.edge === edge)) return null;
  return `The profile ${profile.name} of ${feature_id} leaves ${edge} out. Work on another edge, or give the feature another profile.`;
}

/** What the project says of this agent's claim to an edge; undefined where it says nothing. */
export function edgeFacts(
  view: DecisionView,
  subject: string,
  { agent_id, agent_role }: { readonly agent_id: string; readonly agent_role: string | null },
): EdgeFacts | undefined {
  if (subjectKindOf(subject) !== 'edge') return undefined;
  const { methodology } = view;
  if (methodology === null) return undefined;
  const others = view.heldEdges().filter(isOther(subject, agent_id));
  const overlaps = others.map((head) => moduleOverlap(methodology, subject, head));
  const shared = overlaps.flatMap(({ claim }) => (claim === null ? [] : [claim]));
  const { enforce } = methodology.parallelism;
  return {
    unknown_message: unknownEdgeReason(view, subject),
    second_agent: isSingleAgentProject(methodology) && agent_id !== SINGLE_AGENT.agent_id,
    shared: shared.slice(0, SHARED_NAMED_MAX),
    enforced: enforce,
    warnings: [
      roleWarning(methodology, agent_role),
      orderWarning(view, methodology, subject),
      ...overlaps.map(({ warning }) => warning),
    ]
      .filter((warning) => warning !== null)
      .slice(0, SHARED_NAMED_MAX),
  };
}

/** The order of edges is advice, so who goes ahead of it may, and hears of it. */
function orderWarning(view: DecisionView, methodology: Methodology, subject: string): string | null {
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const vector = view.feature(feature_id);
  if (vector === null) return null;
  const edgePath = edgePathOf(profileOf(methodology, vector), methodology.topology);
  const needs = edgePath.find((stage) => stage.edge === edge)?.needs ?? [];
  const unfinished = needs.filter(
    (earlierEdge) => view.peekHead(`${feature_id}#${earlierEdge}`).phase !== 'COMPLETED',
  );
  if (unfinished.length === 0) return null;
  return `${edge} builds on ${unfinished.join(', ')}, of which ${feature_id} has no accepted result yet. What comes first: gen start --feature ${feature_id}`;
}

/** Authority is asked for when the edge converges. Who has none, because nobody knows its role, hears of it now. */
function roleWarning({ roles: { roles } }: Methodology, agentRole: string | null): string | null {
  if (agentRole === null || agentRole === HUMAN_ROLE || Object.hasOwn(roles, agentRole)) return null;
  const known = Object.keys(roles).slice(0, SHARED_NAMED_MAX).join(', ');
  return `agent_roles.yml has no role ${JSON.stringify(agentRole)}: it has authority over no edge. Known are ${known}.`;
}

export const isSingleAgentProject = (methodology: Methodology | null): boolean =>
  methodology?.mode === 'single';

const isOther =
  (subject: string, agentId: string) =>
  (head: Head): boolean =>
    head.subject !== subject && head.claim !== null && head.claim.agent_id !== agentId;

interface ModuleOverlap {
  readonly claim: SharedClaim | null;
  readonly warning: string | null;
}

/** Sharing no module is free. Not knowing is not the same as sharing none, and is said. */
function moduleOverlap({ modules }: Methodology, subject: string, head: Head): ModuleOverlap {
  const { feature_id = '' } = subjectKeys(subject);
  const { feature_id: other = '' } = subjectKeys(head.subject);
  const agent_id = head.claim?.agent_id ?? '';
  const { count, shared } = innerProduct(modules, feature_id, other);
  const holderText = `${agent_id} holds ${head.subject}`;
  if (count === 0) return { claim: null, warning: null };
  if (count === null) {
    const warning = `${holderText}, and nobody knows whether it shares modules with ${feature_id}: see graph/modules.yml.`;
    return { claim: null, warning };
  }
  const warning = `${holderText}, which touches ${shared.slice(0, SHARED_NAMED_MAX).join(', ')} too. Do one after the other.`;
  return { claim: { subject: head.subject, agent_id, shared_modules: shared }, warning };
}

/**
 * Two coordinators may grant two edges that share modules in the same moment: neither has seen the other's grant, and
 * no head is in both their units. So a grant of work that could share modules changes the rules: of two units decided
 * under one `rules_seq` the store commits one, and the other is decided again by a coordinator that has by then read
 * every event up to that change, and so sees the claim that was granted before it. Claims from before sharing was
 * enforced are seen for the same reason: the configuration changed the rules.
 */
export function fenceSharedModules(
  transaction: TransactionBuilder,
  view: DecisionView,
  decision: Decision,
): void {
  const { subject } = decision.next;
  if (subjectKindOf(subject) !== 'edge') return;
  const { methodology } = view;
  if (methodology === null || !methodology.parallelism.enforce) return;
  if (decision.code === 'DENIED_PARALLEL') {
    // The refusal is true only while they are held.
    for (const held of decision.details.shared ?? [])
      transaction.check(held.subject, view.head(held.subject).seq);
  }
  if (decision.code !== 'GRANTED' && decision.code !== 'REASSIGNED') return;
  const { feature_id = '' } = subjectKeys(subject);
  if (touchedModules(methodology.modules, feature_id) !== null) transaction.markRulesChanged();
}
