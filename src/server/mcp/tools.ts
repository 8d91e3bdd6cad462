import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ApiClient } from '../../client/api-client.js';
import { withExpectedGeneration } from '../../client/renewer.js';
import { type ApiProblem, isProblem } from '../../client/replies.js';
import { releaseBody } from '../../core/contract/claims.js';
import type { Action } from '../../core/contract/operation.js';
import { CHECK_RESULTS, WORK_KINDS } from '../../core/contract/values.js';
import { withResultCounts } from '../../core/methodology/definition/convergence.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { handleArgument } from './handle.js';
import { readResult, renderResult } from './result-tool.js';
import {
  type Claimant,
  omitEmpty,
  renderClaim,
  renderEnd,
  renderHeld,
  renderProblem,
  renderStatus,
  type ToolContent,
} from './tool-content.js';

/** The default agent and session, for calls that name none. */
export type McpIdentity = { readonly [Field in keyof Claimant]?: Claimant[Field] | undefined };

/** Said once, as text: every client shows that to its model. */
const toolResult = (content: ToolContent) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(content) }],
});
/** `isError`: it reports a faulty call rather than a decision. */
type ToolResult = ReturnType<typeof toolResult> & { readonly isError?: true };

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly action: Action;
  readonly run: (client: ApiClient, args: unknown, identity: McpIdentity) => Promise<ToolResult>;
}

/**
 * The schemas contain only what a model needs for a call, because they stay in its context. The coordinator validates
 * the values, as for every other interface.
 */
const handle = handleArgument.describe('As returned by the grant');
const optionalSeconds = z.number().optional();
/**
 * Each type is a schema of its own: some clients reject a schema without a type, or with a list of types. zod would
 * make a list of them, were all of them only types.
 */
const anyJson = z.unknown().meta({
  description: 'Any JSON',
  anyOf: [
    { type: 'object', additionalProperties: true },
    ...['array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
  ],
});
const evaluators = z
  .array(z.strictObject({ name: z.string(), type: z.string().optional(), result: z.enum(CHECK_RESULTS) }))
  .optional()
  .describe('Results of the checks of an edge');
const claimantFields = {
  agent_id: z.string().optional(),
  session_id: z.string().optional().describe('From your last reply'),
};

export const TOOLS: readonly McpTool[] = [
  defineTool(
    'next',
    'Claim the best ready work, or get back what you hold. Returns its briefing and the handle that every later call about it needs.',
    'work',
    z.strictObject({
      track: z.string().optional(),
      kinds: z.array(z.enum(WORK_KINDS)).optional(),
      agent_role: z.string().optional(),
      resume: z.boolean().optional().describe('false: new work although you hold some'),
      wait_seconds: z.number().optional().describe('0-30: how long to wait for ready work'),
      lease_duration_seconds: optionalSeconds,
      ...claimantFields,
    }),
    async (client, { agent_id, session_id, ...request }, identity) => {
      const claimant = claimantOf({ agent_id, session_id }, identity);
      const wanted = { kinds: [...WORK_KINDS], resume: true, ...withoutUndefined(request) };
      return toToolResult(await client.next({ ...wanted, ...claimant }), (result) =>
        renderClaim(result, claimant),
      );
    },
  ),
  defineTool(
    'claim',
    'Claim one task by its id, or an edge of a feature: as task_id FEATURE#EDGE, or by feature_id and edge. If you hold it already, you get its handle again.',
    'work',
    z.strictObject({
      task_id: z.string().optional(),
      feature_id: z.string().optional(),
      edge: z.string().optional(),
      agent_role: z.string().optional(),
      lease_duration_seconds: optionalSeconds,
      ...claimantFields,
    }),
    async (client, { agent_id, session_id, ...request }, identity) => {
      const claimant = claimantOf({ agent_id, session_id }, identity);
      const reply = await client.claimTask({ ...request, ...claimant, resume: true, with_briefing: true });
      return toToolResult(reply, (result) => renderClaim(result, claimant));
    },
  ),
  defineTool(
    'renew',
    'Renew the lease of work you hold. A refusal means that you lost it: stop.',
    'work',
    z.strictObject({ handle, lease_duration_seconds: optionalSeconds }),
    async (client, { handle, lease_duration_seconds }) =>
      toToolResult(
        await client.renewLease({ ...withExpectedGeneration(handle), lease_duration_seconds }),
        (result) => renderHeld(result, handle),
      ),
  ),
  defineTool(
    'submit',
    'Submit the result of work you hold; for an edge, with the results of its checks. A refused result is kept if the reply contains parked.',
    'work',
    z.strictObject({
      handle,
      result_data: anyJson,
      evaluators,
      iteration: z.number().optional(),
    }),
    async (client, { handle, evaluators, ...submission }) => {
      const evaluatorFields = evaluators === undefined ? {} : { evaluators: withResultCounts(evaluators) };
      // A result refused for its form or size leaves the claim: there is a lease's time for a correction.
      await client.renewLease(withExpectedGeneration(handle));
      const reply = await client.submitResult({ ...handle, ...submission, ...evaluatorFields });
      return toToolResult(reply, (result) => renderEnd(result, handle));
    },
  ),
  defineTool(
    'release',
    'Release unfinished work: VOLUNTARY, or ERROR with a message if it failed.',
    'work',
    z.strictObject({
      handle,
      reason: releaseBody.shape.reason.unwrap().optional(),
      message: z.string().optional(),
    }),
    async (client, { handle, ...request }) =>
      toToolResult(
        await client.releaseClaim(withoutUndefined({ ...withExpectedGeneration(handle), ...request })),
        (result) => renderEnd(result, handle),
      ),
  ),
  defineTool(
    'note',
    'Leave a note on work you hold for its next holder (at most 4 KiB).',
    'work',
    z.strictObject({ handle, text: z.string() }),
    async (client, { handle, text }) => {
      // Nothing outlives a call, so no timer renews the claim: its holder's calls do.
      await client.renewLease(withExpectedGeneration(handle));
      return toToolResult(await client.note({ ...handle, text }), (result) => renderHeld(result, handle));
    },
  ),
  defineTool(
    'status',
    'Get the project status: progress, claims, and what waits for a human. With task_id: why that work can or cannot be claimed now, and what to do next.',
    'read',
    z.strictObject({ task_id: z.string().optional(), session_id: claimantFields.session_id }),
    async (client, { task_id, session_id }, identity) =>
      task_id === undefined
        ? toToolResult(await client.status(), renderStatus)
        : toToolResult(await client.explain(task_id, session_id ?? identity.session_id), omitEmpty),
  ),
  defineTool(
    'result',
    'Read the accepted result of a task, that of a generation, or a parked one by its result_id.',
    'read',
    z.strictObject({
      task_id: z.string(),
      generation: z.number().optional(),
      result_id: z.string().optional(),
    }),
    async (client, wanted) => toToolResult(await readResult(client, wanted), renderResult),
  ),
];

function defineTool<Input extends z.ZodType>(
  name: string,
  description: string,
  action: Action,
  input: Input,
  run: (client: ApiClient, args: z.infer<Input>, identity: McpIdentity) => Promise<ToolResult>,
): McpTool {
  // `input` has validated the arguments before `run` gets them.
  return { name, description, action, input, run: run as McpTool['run'] };
}

function toToolResult<T extends object>(
  reply: T | ApiProblem,
  render: (result: T) => ToolContent,
): ToolResult {
  return isProblem(reply) ? problemToolResult(reply) : toolResult(render(reply));
}

export const problemToolResult = (problem: ApiProblem): ToolResult => ({
  ...toolResult(renderProblem(problem)),
  isError: true,
});

/** A caller without a session gets a new one, returned in the reply: agents sharing one would be indistinguishable. */
function claimantOf(fromCall: McpIdentity, fallback: McpIdentity): Claimant {
  const session_id =
    fromCall.session_id ?? fallback.session_id ?? `mcp-${randomBytes(SESSION_BYTES).toString('hex')}`;
  return { session_id, agent_id: fromCall.agent_id ?? fallback.agent_id ?? session_id };
}

const SESSION_BYTES = 8;
