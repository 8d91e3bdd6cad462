import type { z } from 'zod';
import { applicableAgentRole } from '../../core/agent-role.js';
import type { ClaimHandle } from '../../core/claims/commands.js';
import {
  ATOMIC_ITEMS_MAX,
  batchClaimBody,
  type ClaimBody,
  claimBody,
} from '../../core/contract/claim-bodies.js';
import { parseBodyFastPath } from '../../core/contract/fast-path-bodies.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { isTaskId, parseTaskId } from '../../core/plan/index.js';
import { subjectKindOf } from '../../core/subject.js';
import type { Caller } from '../authentication/caller.js';
import { fieldProblem, isProblem, type Problem, problem } from '../wire/problem.js';
import type { ClaimRequest } from './claim.js';

/** Matches the schema library's message for a missing field, which is replaced by a readable one. */
const MISSING_FIELD = /received undefined$/;

/** Validates a body, or returns a problem with its first faults, each with the path of its field. */
export function parseBody<S extends z.ZodType>(
  schema: S,
  body: unknown,
  where = 'body',
): z.output<S> | Problem {
  const fastPathFields = parseBodyFastPath(schema, body);
  if (fastPathFields !== null) return fastPathFields;
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.slice(0, 20).map((issue) => ({
    path: issue.path.join('.'),
    message: MISSING_FIELD.test(issue.message) ? 'is missing' : issue.message,
  }));
  const first = faults[0];
  const detail = `${first?.path || where}: ${first?.message ?? 'is not valid'}`;
  return problem('INVALID_REQUEST', detail, faults);
}

/** The body with the agent role that applies to it, or a problem if the caller's credential is limited to another role. */
function withAgentRole<Body extends { readonly agent_role?: string | undefined }>(
  body: Body,
  { agent_role: credentialAgentRole }: Pick<Caller, 'agent_role'>,
): Body | Problem {
  if (credentialAgentRole === null) return body;
  const applicable = applicableAgentRole(body.agent_role ?? null, credentialAgentRole);
  if (!applicable.ok) return fieldProblem('agent_role', applicable.message, 'FORBIDDEN');
  return { ...body, agent_role: applicable.agent_role };
}

/** Parses a body that can name an agent role. */
export function parseRoleBody<S extends z.ZodType<{ readonly agent_role?: string | undefined }>>(
  schema: S,
  body: unknown,
  caller: Caller,
): z.output<S> | Problem {
  const fields = parseBody(schema, body);
  return isProblem(fields) ? fields : withAgentRole(fields, caller);
}

type SubjectFields = Pick<ClaimBody, 'task_id' | 'feature_id' | 'edge'>;

/** The subject that a body names: a task by its id; an edge by feature and edge, or as `feature#edge`. */
export function subjectOfBody({ task_id, feature_id, edge }: SubjectFields): string | Problem {
  if (task_id === undefined) {
    if (feature_id !== undefined && edge !== undefined) return parseEdge(feature_id, edge);
    return fieldProblem('task_id', 'expected task_id, or feature_id and edge');
  }
  if (feature_id !== undefined || edge !== undefined) {
    return fieldProblem('task_id', 'expected task_id, or feature_id and edge, not both');
  }
  return parseSubject(task_id);
}

export function parseSubject(taskId: unknown): string | Problem {
  if (typeof taskId !== 'string') return fieldProblem('task_id', 'expected the id of a task or an edge');
  if (subjectKindOf(taskId) === 'edge') {
    const cut = taskId.indexOf('#');
    return parseEdge(taskId.slice(0, cut), taskId.slice(cut + 1));
  }
  if (isTaskId(taskId)) return taskId;
  const task = parseTaskId(taskId);
  return task.ok ? taskId : fieldProblem('task_id', task.message);
}

const CONTROL_CHARS = /\p{Cc}/u;

/** Spaces and case are normalized. Control characters are refused: a line break would corrupt the signed text. */
function parseEdge(featureId: string, edge: string): string | Problem {
  if (CONTROL_CHARS.test(featureId)) return fieldProblem('feature_id', 'expected no control characters');
  if (CONTROL_CHARS.test(edge)) return fieldProblem('edge', 'expected no control characters');
  return edgeSubject(featureId, edge);
}

export interface HandleBody {
  readonly task_id: string;
  readonly session_id: string;
  readonly claim_id?: string | undefined;
  readonly expected_generation?: number;
  readonly generation?: number;
  readonly signature?: string | undefined;
}

/** Parses a holder's command: its body, subject and claim handle. */
export function parseHolderBody<S extends z.ZodType<HandleBody>>(
  schema: S,
  body: unknown,
  caller: Caller,
): { fields: z.output<S>; subject: string; handle: ClaimHandle } | Problem {
  const holderFields = parseBody(schema, body);
  if (isProblem(holderFields)) return holderFields;
  const subject = parseSubject(holderFields.task_id);
  if (isProblem(subject)) return subject;
  const { session_id, claim_id = null, generation = 0, expected_generation = generation } = holderFields;
  if (claim_id === null && !caller.claim_id_optional) {
    const message =
      'is missing. With a credential it is required: send the claim_id that the grant returned.';
    return fieldProblem('claim_id', message, 'CLAIM_ID_REQUIRED');
  }
  return { fields: holderFields, subject, handle: { generation: expected_generation, session_id, claim_id } };
}

export function parseClaim(
  body: unknown,
  caller: Caller,
): (ClaimRequest & { with_briefing: boolean }) | Problem {
  const fields = parseRoleBody(claimBody, body, caller);
  if (isProblem(fields)) return fields;
  const subject = subjectOfBody(fields);
  if (isProblem(subject)) return subject;
  // Most claims request no briefing, and copying the fields but one takes as long as parsing the body.
  if (fields.with_briefing === undefined) return { subject, body: fields, with_briefing: false };
  const { with_briefing, ...claimFields } = fields;
  return { subject, body: claimFields, with_briefing };
}

function claimRequestOf(body: ClaimBody): ClaimRequest | Problem {
  const subject = subjectOfBody(body);
  return isProblem(subject) ? subject : { subject, body };
}

export function parseBatchClaim(body: unknown, caller: Caller) {
  const fields = parseBody(batchClaimBody, body);
  if (isProblem(fields)) return fields;
  const { mode, request_id } = fields;
  const claims = fields.claims.map((claim) => {
    const claimWithRole = withAgentRole(claim, caller);
    return isProblem(claimWithRole) ? claimWithRole : claimRequestOf(claimWithRole);
  });
  const invalidIndex = claims.findIndex(isProblem);
  if (invalidIndex >= 0) return nestProblem(`claims.${invalidIndex}`, claims[invalidIndex] as Problem);
  const requests = claims as ClaimRequest[];
  if (mode !== 'partial') return atomicBatchProblem(requests) ?? { mode, request_id, claims: requests };
  const withIds = requests.map((claim, index) => withDerivedRequestId(request_id, claim, index));
  return { mode, request_id, claims: withIds };
}

/** Prefixes a problem's paths with the path of the part that has the problem. */
const nestProblem = (prefix: string, { problem: code, detail, faults = [] }: Problem): Problem =>
  problem(
    code,
    `${prefix}.${detail}`,
    faults.map((fault) => ({ ...fault, path: `${prefix}.${fault.path}` })),
  );

/** Derives a request id per claim from the batch's, so that a repeated batch repeats each claim. */
function withDerivedRequestId(requestId: string | undefined, claim: ClaimRequest, index: number) {
  if (requestId === undefined || claim.body.request_id !== undefined) return claim;
  const { request_id: _, ...body } = claim.body;
  return { ...claim, body: { request_id: `${requestId}~${index}`, ...body } };
}

function atomicBatchProblem(claims: readonly ClaimRequest[]): Problem | null {
  if (claims.length > ATOMIC_ITEMS_MAX) {
    return fieldProblem('claims', `expected at most ${ATOMIC_ITEMS_MAX} claims in an all_or_nothing batch`);
  }
  const isDistinct = new Set(claims.map(({ subject }) => subject)).size === claims.length;
  return isDistinct ? null : fieldProblem('claims', 'expected each task at most once');
}
