import type { z } from 'zod';
import type { Handle } from '../../core/claims/commands.js';
import { edgeSubject } from '../../core/graph/edge-name.js';
import { isTaskId, parseTaskId } from '../../core/plan/index.js';
import { kindOf } from '../../core/subject.js';
import type { Caller } from '../caller.js';
import { isProblem, type Problem, problem } from '../problem.js';
import { ATOMIC_ITEMS_MAX, batchClaimBody, type ClaimBody, claimBody } from '../wire.js';
import type { ClaimRequest } from './claim.js';

/** What the schemas say of a field that is not there, which is no word for people. */
const MISSING = /received undefined$/;

/** Reads a body at the border, or says field by field what was expected. */
export function readBody<S extends z.ZodType>(
  schema: S,
  body: unknown,
  where = 'body',
): z.output<S> | Problem {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const faults = read.error.issues.slice(0, 20).map((issue) => ({
    path: issue.path.join('.'),
    message: MISSING.test(issue.message) ? 'is missing' : issue.message,
  }));
  const first = faults[0];
  const detail = `${first?.path || where}: ${first?.message ?? 'not understood'}`;
  return problem('INVALID_REQUEST', detail, faults);
}

/** The subject a body names: a task by its id, an edge by feature and edge or by `feature#edge`. */
export function subjectOf(body: {
  task_id?: string | undefined;
  feature_id?: string | undefined;
  edge?: string | undefined;
}): string | Problem {
  const { task_id, feature_id, edge } = body;
  if (task_id === undefined) {
    if (feature_id !== undefined && edge !== undefined) return readEdge(feature_id, edge);
    return invalidSubject('task_id', 'expected task_id, or feature_id and edge');
  }
  if (feature_id !== undefined || edge !== undefined) {
    return invalidSubject('task_id', 'expected task_id, or feature_id and edge, not both');
  }
  return readSubject(task_id);
}

export function readSubject(task_id: unknown): string | Problem {
  if (typeof task_id !== 'string') return invalidSubject('task_id', 'expected the id of a task or an edge');
  if (kindOf(task_id) === 'edge') {
    const cut = task_id.indexOf('#');
    return readEdge(task_id.slice(0, cut), task_id.slice(cut + 1));
  }
  if (isTaskId(task_id)) return task_id;
  const task = parseTaskId(task_id);
  return task.ok ? task_id : invalidSubject('task_id', task.message);
}

const CONTROL = /\p{Cc}/u;

/** Spaces and case mean the same edge; a line break is none of them, and would break the text that is signed. */
function readEdge(feature_id: string, edge: string): string | Problem {
  if (CONTROL.test(feature_id)) return invalidSubject('feature_id', 'expected no control characters');
  if (CONTROL.test(edge)) return invalidSubject('edge', 'expected no control characters');
  return edgeSubject(feature_id, edge);
}

const invalidSubject = (path: string, message: string): Problem =>
  problem('INVALID_REQUEST', `${path}: ${message}`, [{ path, message }]);

interface HandleBody {
  readonly task_id: string;
  readonly session_id: string;
  readonly claim_id?: string | undefined;
  readonly expected_generation?: number;
  readonly generation?: number;
}

/** What every command of a holder brings: its body, the subject it is about, the handle it shows. */
export function readHandled<S extends z.ZodType<HandleBody>>(
  schema: S,
  body: unknown,
  caller: Caller,
): { read: z.output<S>; subject: string; handle: Handle } | Problem {
  const read = readBody(schema, body);
  if (isProblem(read)) return read;
  const subject = readSubject(read.task_id);
  if (isProblem(subject)) return subject;
  const handle = handleOf(read, read.expected_generation ?? read.generation ?? 0, caller);
  return isProblem(handle) ? handle : { read, subject, handle };
}

function handleOf(
  body: { session_id: string; claim_id?: string | undefined },
  generation: number,
  caller: Caller,
) {
  if (body.claim_id === undefined && !caller.claim_id_optional) {
    return problem('CLAIM_ID_REQUIRED', 'claim_id: expected the claim id of the grant', [
      { path: 'claim_id', message: 'expected the claim id of the grant' },
    ]);
  }
  return { generation, session_id: body.session_id, claim_id: body.claim_id ?? null };
}

export function readClaim(body: unknown): (ClaimRequest & { with_briefing: boolean }) | Problem {
  const read = readBody(claimBody, body);
  if (isProblem(read)) return read;
  const { with_briefing = false, ...asked } = read;
  const claim = claimOf(asked);
  return isProblem(claim) ? claim : { ...claim, with_briefing };
}

function claimOf(body: ClaimBody): ClaimRequest | Problem {
  const subject = subjectOf(body);
  return isProblem(subject) ? subject : { subject, body };
}

export interface BatchClaim {
  readonly mode: 'partial' | 'all_or_nothing';
  readonly claims: readonly ClaimRequest[];
  readonly request_id: string | undefined;
}

export function readBatch(body: unknown): BatchClaim | Problem {
  const read = readBody(batchClaimBody, body);
  if (isProblem(read)) return read;
  const { mode, request_id } = read;
  const claims = read.claims.map(claimOf);
  const wrong = claims.findIndex(isProblem);
  if (wrong >= 0) return within(`claims.${wrong}`, claims[wrong] as Problem);
  const asked = claims as ClaimRequest[];
  if (mode === 'partial') {
    return { mode, request_id, claims: asked.map((claim, index) => partOf(request_id, claim, index)) };
  }
  return atomicFault(asked) ?? { mode, request_id, claims: asked };
}

/** What is wrong with a part, told of the whole. */
const within = (place: string, { problem: code, detail, faults = [] }: Problem): Problem =>
  problem(
    code,
    `${place}.${detail}`,
    faults.map((fault) => ({ ...fault, path: `${place}.${fault.path}` })),
  );

/** A batch that is repeated repeats each of its claims, so each is remembered under a name made from the batch's. */
function partOf(request_id: string | undefined, claim: ClaimRequest, index: number): ClaimRequest {
  if (request_id === undefined || claim.body.request_id !== undefined) return claim;
  return { ...claim, body: { ...claim.body, request_id: `${request_id}~${index}` } };
}

function atomicFault(claims: readonly ClaimRequest[]): Problem | null {
  if (claims.length > ATOMIC_ITEMS_MAX) {
    const message = `expected at most ${ATOMIC_ITEMS_MAX} claims in an all_or_nothing batch`;
    return problem('INVALID_REQUEST', `claims: ${message}`, [{ path: 'claims', message }]);
  }
  if (new Set(claims.map((claim) => claim.subject)).size < claims.length) {
    const message = 'expected each task once';
    return problem('INVALID_REQUEST', `claims: ${message}`, [{ path: 'claims', message }]);
  }
  return null;
}
