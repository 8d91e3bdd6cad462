import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ClaimResult } from '../../coordinator/wire.js';
import type { EffectiveCheck } from '../../core/graph/checklist.js';
import { CHECK_RESULTS, withResultCounts } from '../../core/graph/convergence.js';
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

/** Who takes work, where the call does not say. */
export interface McpIdentity {
  readonly agent_id?: string | undefined;
  readonly session_id?: string | undefined;
}

/** A reply, and whether it is about a broken call rather than a decision. */
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
 * The schemas say what a model must know to call, and no more: they sit in its context all the time. What a value may
 * be is decided where every other way in has it decided.
 */
const handleSchema = z
  .strictObject({ task_id: z.string(), generation: z.number(), claim_id: z.string(), session_id: z.string() })
  .describe('As the grant gave it');
const optionalSeconds = z.number().optional();
/** A schema that names no type makes some clients doubt it: so all of them are named. */
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
  // The arguments have been read by `input` before `run` gets them.
  return { name, description, action, input, run: run as McpTool['run'] };
}

/** What an edge that was granted asks for. Not to know it does no harm: a submission is told what it lacks. */
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

/** Whoever names no session gets one of its own, and is told it: two that share one could not be told apart. */
function claimantOf(given: McpIdentity, identity: McpIdentity): Claimant {
  const session_id =
    given.session_id ?? identity.session_id ?? `mcp-${randomBytes(SESSION_BYTES).toString('hex')}`;
  return { session_id, agent_id: given.agent_id ?? identity.agent_id ?? session_id };
}

const SESSION_BYTES = 8;
