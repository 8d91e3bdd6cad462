import { ownValue } from '../../own-value.js';
import { canonicalEdge } from './edge-name.js';
import { isSpecification, toolConfigPaths } from './guarded-paths.js';
import type { Methodology } from './methodology.js';

export interface AuthorityDecision {
  readonly decision: 'granted' | 'escalate' | 'reject' | 'warn';
  readonly reason:
    | 'outside_role_authority'
    | 'spec_mutation'
    | 'commands_programs'
    | 'changes_evaluators'
    | 'omits_checks'
    | null;
  /** Paths that a person must review, if they are the reason. */
  readonly paths?: readonly string[];
  /** Names of the checks that the profile leaves out, if they are the reason. */
  readonly omitted_checks?: readonly string[];
}

export interface AuthorityRequest {
  readonly edge: string;
  readonly agent_role: string | null;
  /** Files that the result changes, relative to the project root. */
  readonly files: readonly string[];
  readonly is_human: boolean;
}

/** Why a person must review a result that passes its checks, by escalation reason. Each text completes a sentence. */
export const REVIEW_CAUSES = {
  outside_role_authority:
    'the role of this agent may not converge the edge (--role sets the role; by default full_stack may converge every edge)',
  spec_mutation: 'the result changes the specification',
  human_review_required: 'the edge has a check that only a person can pass',
  review_pending: 'another candidate of this claim is under review or was not approved',
} as const;

const AUTHORITY_GRANTED: AuthorityDecision = { decision: 'granted', reason: null };

/**
 * Decides whether a caller may converge an edge. People always may. The result of an agent must not change files that
 * configure other programs, whatever the project allows, and not the specification, unless the project allows it; and the
 * role of the agent must include the edge. `methodology`: null if the project is not configured; then only the first rule
 * applies.
 */
export function checkAuthority(
  methodology: Methodology | null,
  request: AuthorityRequest,
): AuthorityDecision {
  if (request.is_human) return AUTHORITY_GRANTED;
  const paths = toolConfigPaths(request.files);
  if (paths.length > 0) return { decision: 'escalate', reason: 'commands_programs', paths };
  if (methodology === null) return AUTHORITY_GRANTED;
  const { roles, outside_authority_action, spec_mutation_requires_human } = methodology.roles;
  if (spec_mutation_requires_human && request.files.some(isSpecification)) {
    return { decision: 'escalate', reason: 'spec_mutation' };
  }
  const role = request.agent_role === null ? undefined : ownValue(roles, request.agent_role);
  const edges = role?.converge_edges ?? [];
  if (edges === 'all' || edges.includes(canonicalEdge(request.edge))) return AUTHORITY_GRANTED;
  return { decision: outside_authority_action, reason: 'outside_role_authority' };
}
