import type { Decision, EdgeFacts } from '../../core/claims/commands.js';
import type { Head } from '../../core/claims/head.js';
import { HUMAN_ROLE } from '../../core/claims/human-approval.js';
import { checkAuthority } from '../../core/methodology/definition/authority.js';
import type { Methodology } from '../../core/methodology/definition/methodology.js';
import { moduleOverlap, touchedModules } from '../../core/methodology/definition/modules.js';
import { profileEdges, profileOf } from '../../core/methodology/definition/profile.js';
import { edgePathOf } from '../../core/methodology/progress/edge-path.js';
import { SINGLE_AGENT } from '../../core/methodology/single-agent.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { TransactionBuilder } from '../queue/transaction-builder.js';

/** Maximum number of names listed in a message. */
const NAMES_LISTED_MAX = 20;
const EDGE_SUBJECT = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}#[a-z][a-z0-9_]{0,99}$/;

/**
 * Why the project has no such edge to claim, as a sentence; null if it has. An unconfigured project accepts any
 * well-formed edge, because its features are not recorded.
 */
export function unknownEdgeText(view: DecisionView, subject: string): string | null {
  if (!EDGE_SUBJECT.test(subject))
    return `${subject} is not an edge of a feature. Pass one such as REQ-F-AUTH-001#design_code.`;
  const { methodology } = view;
  if (methodology === null) return null;
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const { topology } = methodology;
  if (!topology.transitions.some((transition) => transition.edge === edge)) {
    const edgeNames = topology.transitions.map((transition) => transition.edge).join(', ');
    return `The topology of this project has no edge ${edge}. Use one of: ${edgeNames}.`;
  }
  const feature = view.feature(feature_id);
  if (feature === null) {
    return `There is no feature ${feature_id}. Create it: gen spawn --type feature --id ${feature_id} --reason WHY. Or write features/active/${feature_id}.yml and run gen init again.`;
  }
  const profile = profileOf(methodology, feature);
  if (profileEdges(profile, topology).some((included) => included.edge === edge)) return null;
  return `The profile ${profile.name} of ${feature_id} excludes ${edge}. Claim another edge, or change the profile of the feature.`;
}

/** The facts for a claim of an edge by this agent; undefined for a task, or if the project is not configured. */
export function edgeFacts(
  view: DecisionView,
  subject: string,
  { agent_id, agent_role }: { readonly agent_id: string; readonly agent_role: string | null },
): EdgeFacts | undefined {
  if (subjectKindOf(subject) !== 'edge') return undefined;
  const { methodology } = view;
  if (methodology === null) return undefined;
  const isOfOtherAgent = ({ subject: claimedSubject, claim }: Head): boolean =>
    claimedSubject !== subject && claim !== null && claim.agent_id !== agent_id;
  const others = view.claimedEdges().filter(isOfOtherAgent);
  const overlaps = others.map((head) => overlapWithClaim(methodology, subject, head));
  const shared = overlaps.flatMap(({ claim }) => (claim === null ? [] : [claim]));
  return {
    unknown_message: unknownEdgeText(view, subject),
    is_second_agent: isSingleAgentProject(methodology) && agent_id !== SINGLE_AGENT.agent_id,
    overlapping_claims: shared.slice(0, NAMES_LISTED_MAX),
    is_overlap_refused: methodology.parallelism.enforce,
    warnings: [
      roleWarning(methodology, subject, agent_role),
      orderWarning(view, subject),
      ...overlaps.map(({ warning }) => warning),
    ]
      .filter((warning) => warning !== null)
      .slice(0, NAMES_LISTED_MAX),
  };
}

/** The edges of the same feature whose results an edge builds on. */
export function earlierEdges(view: DecisionView, subject: string): string[] {
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const { methodology } = view;
  const feature = view.feature(feature_id);
  if (methodology === null || feature === null) return [];
  const edgePath = edgePathOf(profileOf(methodology, feature), methodology.topology);
  const needs = edgePath.find((stage) => stage.edge === edge)?.needs ?? [];
  return needs.map((earlier) => `${feature_id}#${earlier}`);
}

/** Edge order is advisory: a claim out of order is granted with a warning. */
function orderWarning(view: DecisionView, subject: string): string | null {
  const { feature_id = '', edge = '' } = subjectKeys(subject);
  const unfinished = earlierEdges(view, subject)
    .filter((earlier) => view.peekHead(earlier).phase !== 'COMPLETED')
    .map((earlier) => subjectKeys(earlier).edge);
  if (unfinished.length === 0) return null;
  return `${edge} builds on ${unfinished.join(', ')}, for which ${feature_id} has no accepted result yet. For the recommended order, run gen start --feature ${feature_id}`;
}

/** The warning for an agent whose role may not converge the edge: it is given with the claim, before the work begins. */
function roleWarning(methodology: Methodology, subject: string, agentRole: string | null): string | null {
  const { roles } = methodology.roles;
  const names = Object.keys(roles);
  if (agentRole !== null && agentRole !== HUMAN_ROLE && !Object.hasOwn(roles, agentRole)) {
    const roleNames = names.slice(0, NAMES_LISTED_MAX).join(', ');
    return `agent_roles.yml has no role ${JSON.stringify(agentRole)}, so it has authority over no edge. Use one of: ${roleNames}.`;
  }
  const { edge = '' } = subjectKeys(subject);
  const authorityOf = (role: string | null) =>
    checkAuthority(methodology, { edge, agent_role: role, files: [], is_human: role === HUMAN_ROLE });
  const { decision } = authorityOf(agentRole);
  if (decision === 'granted' || decision === 'warn') return null;
  const who = agentRole === null ? 'An agent without a role' : `The role ${agentRole}`;
  const effect = decision === 'reject' ? 'the result will be refused' : 'the result will wait for a person';
  const rolesWithAuthority = names
    .filter((role) => authorityOf(role).decision === 'granted')
    .slice(0, NAMES_LISTED_MAX);
  const advice =
    rolesWithAuthority.length === 0
      ? 'agent_roles.yml has no role that may.'
      : `Claim with a role: ${rolesWithAuthority.join(', ')}.`;
  return `${who} may not converge ${edge}: ${effect}. ${advice}`;
}

export const isSingleAgentProject = (methodology: Methodology | null): boolean =>
  methodology?.mode === 'single';

/**
 * Whether another claimed edge may change the same modules. Features without a shared module do not conflict. If the
 * modules of a feature are unknown, there is only a warning.
 */
function overlapWithClaim({ modules }: Methodology, subject: string, head: Head) {
  const { feature_id = '' } = subjectKeys(subject);
  const { feature_id: other = '' } = subjectKeys(head.subject);
  const agent_id = head.claim?.agent_id ?? '';
  const { count, shared } = moduleOverlap(modules, feature_id, other);
  const holderText = `${agent_id} holds ${head.subject}`;
  if (count === 0) return { claim: null, warning: null };
  if (count === null) {
    const warning = `${holderText}. Whether it shares modules with ${feature_id} is unknown: check graph/modules.yml.`;
    return { claim: null, warning };
  }
  const warning = `${holderText}, which also touches ${shared.slice(0, NAMES_LISTED_MAX).join(', ')}. Finish one before the other.`;
  return { claim: { subject: head.subject, agent_id, shared_modules: shared }, warning };
}

/**
 * Fences grants of edges that may share modules. Two coordinators could grant such edges at the same moment: neither
 * has seen the other's grant, and no head is in both transactions. So each such grant changes the rules: of two
 * transactions decided under one `rules_seq` the store commits one, and the other is decided again after reading
 * every event up to that change, including the first claim. Claims from before enforcement are seen too, because the
 * configuration itself changed the rules.
 */
export function fenceOverlappingGrants(transaction: TransactionBuilder, decision: Decision): void {
  const { subject } = decision.next;
  if (subjectKindOf(subject) !== 'edge') return;
  const { methodology } = transaction.view;
  if (methodology === null || !methodology.parallelism.enforce) return;
  if (decision.code === 'DENIED_PARALLEL') {
    // The refusal is valid only as long as these claims are.
    for (const overlap of decision.details.shared ?? []) transaction.checkHead(overlap.subject);
  }
  if (decision.events.length === 0) return;
  if (decision.code !== 'GRANTED' && decision.code !== 'REASSIGNED') return;
  const { feature_id = '' } = subjectKeys(subject);
  if (touchedModules(methodology.modules, feature_id) !== null) transaction.invalidateConcurrentDecisions();
}
