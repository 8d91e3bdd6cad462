import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ClaimResult } from '../../coordinator/wire/index.js';
import type { EffectiveCheck } from '../../core/methodology/definition/checklist.js';
import { CHECK_RESULTS, withResultCounts } from '../../core/methodology/definition/convergence.js';
import { subjectKindOf } from '../../core/subject.js';
import type { Action } from '../auth/principal.js';
import { type Claimant, isMcpProblem, type McpBackend, type McpProblem } from './backend.js';
import {
  renderClaim,
  renderExplanation,
  renderNote,
  renderProblem,
  renderRelease,
  renderRenewal,
  renderStatus,
  renderSubmission,
  type ToolContent,
} from './tool-content.js';

/** The default agent and session, for calls that name none. */
export interface McpIdentity {
  readonly agent_id?: string | undefined;
  readonly session_id?: string | undefined;
}

/** A reply, and whether it reports a faulty call rather than a decision. */
export interface ToolReply {
  readonly content: ToolContent;
  readonly is_error: boolean;
}

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly action: Action;
  readonly run: (fleet: McpBackend, args: unknown, identity: McpIdentity) => Promise<ToolReply>;
}

/**
 * The schemas contain only what a model needs for a call, because they stay in its context. The coordinator validates
 * the values, as for every other interface.
 */
const handleSchema = z
  .strictObject({ task_id: z.string(), generation: z.number(), claim_id: z.string(), session_id: z.string() })
  .describe('As the grant gave it');
const optionalSeconds = z.number().optional();
/** Names all types, because some clients mistrust a schema without a type. */
const anyJson = z.unknown().meta({
  description: 'Any JSON',
  type: ['object', 'array', 'string', 'number', 'boolean', 'null'],
});
const evaluators = z
  .array(z.strictObject({ name: z.string(), type: z.string().optional(), result: z.enum(CHECK_RESULTS) }))
  .optional()
  .describe('How the checks of an edge came out');
const claimantFields = {
  agent_id: z.string().optional(),
  session_id: z.string().optional().describe('Of your last reply'),
};

export const TOOLS: readonly McpTool[] = [
  defineTool(
    'next',
    'Take the best ready work of the project. Returns its briefing and the handle that every later call about it needs.',
    'work',
    z.strictObject({
      track: z.string().optional(),
      wait_seconds: z.number().optional().describe('0-30, until something is ready'),
      lease_duration_seconds: optionalSeconds,
      ...claimantFields,
    }),
    async (backend, { agent_id, session_id, ...request }, identity) => {
      const claimant = claimantOf({ agent_id, session_id }, identity);
      return toToolReply(await backend.next({ ...request, ...claimant }), (result) =>
        renderClaim(result, claimant),
      );
    },
  ),
  defineTool(
    'claim',
    'Take one task by its id, or an edge of a feature: as task_id FEATURE#EDGE, or by feature_id and edge.',
    'work',
    z.strictObject({
      task_id: z.string().optional(),
      feature_id: z.string().optional(),
      edge: z.string().optional(),
      agent_role: z.string().optional(),
      lease_duration_seconds: optionalSeconds,
      ...claimantFields,
    }),
    async (backend, { agent_id, session_id, lease_duration_seconds, agent_role, ...selector }, identity) => {
      const claimant = {
        ...claimantOf({ agent_id, session_id }, identity),
        lease_duration_seconds,
        agent_role,
      };
      const reply = await backend.claim(selector, claimant);
      const checks = await requiredChecks(backend, reply);
      return toToolReply(reply, (result) => renderClaim(result, claimant, checks));
    },
  ),
  defineTool(
    'renew',
    'Keep work you hold: its lease starts again. A refusal means that you lost it: stop.',
    'work',
    z.strictObject({ handle: handleSchema, lease_duration_seconds: optionalSeconds }),
    async (backend, { handle, lease_duration_seconds }) =>
      toToolReply(await backend.renew(handle, lease_duration_seconds), (result) =>
        renderRenewal(result, handle),
      ),
  ),
  defineTool(
    'submit',
    'Hand in the result of work you hold; of an edge, with how its checks came out. A refused result is kept where its reply says parked.',
    'work',
    z.strictObject({
      handle: handleSchema,
      result_data: anyJson,
      evaluators,
      iteration: z.number().optional(),
    }),
    async (backend, { handle, evaluators, ...submission }) => {
      const evaluatorFields = evaluators === undefined ? {} : { evaluators: withResultCounts(evaluators) };
      const reply = await backend.submit(handle, { ...submission, ...evaluatorFields });
      return toToolReply(reply, (result) => renderSubmission(result, handle));
    },
  ),
  defineTool(
    'release',
    'Give work back unfinished: VOLUNTARY, or ERROR with a message when it failed.',
    'work',
    z.strictObject({
      handle: handleSchema,
      reason: z.enum(['VOLUNTARY', 'ERROR']).optional(),
      message: z.string().optional(),
    }),
    async (backend, { handle, ...request }) =>
      toToolReply(await backend.release(handle, request), (result) => renderRelease(result, handle)),
  ),
  defineTool(
    'note',
    'Leave a note on work you hold for whoever takes it after you (at most 4 KiB).',
    'work',
    z.strictObject({ handle: handleSchema, text: z.string() }),
    async (backend, { handle, text }) =>
      toToolReply(await backend.note(handle, text), (result) => renderNote(result, handle)),
  ),
  defineTool(
    'status',
    'How the project stands: progress, who holds what, what waits for a human.',
    'read',
    z.strictObject({}),
    async (backend) => toToolReply(await backend.status(), renderStatus),
  ),
  defineTool(
    'explain',
    'Why a task can or cannot be claimed now, and what to do about it.',
    'read',
    z.strictObject({ task_id: z.string() }),
    async (backend, { task_id }) => toToolReply(await backend.explain(task_id), renderExplanation),
  ),
];

function defineTool<Input extends z.ZodType>(
  name: string,
  description: string,
  action: Action,
  input: Input,
  run: (backend: McpBackend, args: z.infer<Input>, identity: McpIdentity) => Promise<ToolReply>,
): McpTool {
  // `input` has validated the arguments before `run` gets them.
  return { name, description, action, input, run: run as McpTool['run'] };
}

/** The checks that a granted edge requires. If they cannot be read, nothing is lost: a submission reports what is missing. */
async function requiredChecks(
  backend: McpBackend,
  reply: ClaimResult | McpProblem,
): Promise<readonly EffectiveCheck[]> {
  if (isMcpProblem(reply) || reply.claim === null || subjectKindOf(reply.claim.task_id) !== 'edge') return [];
  const state = await backend.task(reply.claim.task_id);
  return isMcpProblem(state) ? [] : (state.checks ?? []);
}

function toToolReply<T extends object>(reply: T | McpProblem, render: (result: T) => ToolContent): ToolReply {
  return isMcpProblem(reply) ? problemToolReply(reply) : { content: render(reply), is_error: false };
}

export const problemToolReply = (problem: McpProblem): ToolReply => ({
  content: renderProblem(problem),
  is_error: true,
});

/** A caller without a session gets a new one, returned in the reply: agents sharing one would be indistinguishable. */
function claimantOf(given: McpIdentity, identity: McpIdentity): Claimant {
  const session_id =
    given.session_id ?? identity.session_id ?? `mcp-${randomBytes(SESSION_BYTES).toString('hex')}`;
  return { session_id, agent_id: given.agent_id ?? identity.agent_id ?? session_id };
}

const SESSION_BYTES = 8;
