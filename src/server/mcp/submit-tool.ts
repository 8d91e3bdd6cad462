import { z } from 'zod';
import type { ApiClient } from '../../client/api-client.js';
import { withExpectedGeneration } from '../../client/renewer.js';
import { type ApiProblem, isProblem } from '../../client/replies.js';
import { CHECK_RESULTS } from '../../core/contract/values.js';
import { withResultCounts } from '../../core/methodology/definition/convergence.js';
import { subjectKindOf } from '../../core/subject.js';
import type { DraftGrant } from '../../workspace/drafts/draft-grant.js';
import { isDraftRefusal } from '../../workspace/drafts/refusal.js';
import {
  defineTool,
  problemToolResult,
  successResult,
  type ToolContext,
  type ToolResult,
} from './define-tool.js';
import { handleArgument, type McpHandle } from './handle.js';
import { renderDraftRefusal, renderRenewalOrNote, renderSubmissionOrRelease } from './tool-content.js';

/**
 * Each type is a separate schema: some clients reject a schema without a type, or with a list of types. If all were
 * plain types, zod would merge them into a list.
 */
const anyJson = z.unknown().meta({
  description: 'Any JSON',
  anyOf: [
    { type: 'object', additionalProperties: true },
    ...['array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
  ],
});
const submission = z.strictObject({
  handle: handleArgument,
  result_data: anyJson.optional(),
  evaluators: z
    .array(z.strictObject({ name: z.string(), type: z.string().optional(), result: z.enum(CHECK_RESULTS) }))
    .optional()
    .describe('Results of the checks of an edge'),
  iteration: z.number().optional(),
});
const draftsSubmission = submission.extend({
  drafts: z.boolean().optional().describe('Submit the files in draft_folder instead of result_data'),
});

const DESCRIPTION =
  'Submit the result of work you hold; for an edge, with the results of its checks. A refused result is kept if the reply contains parked.';

/** `drafts` is an argument only where there are draft folders. */
export const submitTool = (hasDrafts: boolean) =>
  hasDrafts
    ? defineTool('submit', DESCRIPTION, 'work', draftsSubmission, submitResult)
    : defineTool('submit', DESCRIPTION, 'work', submission, submitResult);

async function submitResult(
  context: ToolContext,
  call: z.infer<typeof draftsSubmission>,
): Promise<ToolResult> {
  const { client } = context;
  const { handle, result_data, drafts: isFromDrafts = false, evaluators, iteration } = call;
  const drafts = isFromDrafts ? context.drafts : null;
  const fault = callFault(call, drafts !== null, context.drafts !== null);
  if (fault !== null) return problemToolResult(invalidCall(fault), handle);
  // Renew first: a result refused for its form or size keeps its claim, and the holder gets a full lease to correct it.
  const renewed = await client.renewLease(withExpectedGeneration(handle));
  // Checked before the drafts are touched: task and generation alone would select the draft folder of another
  // session's agent.
  if (drafts !== null && !isProblem(renewed) && renewed.reason === 'SESSION_MISMATCH')
    return successResult(renderRenewalOrNote(renewed, handle));
  const grant = drafts === null ? null : await grantOf(client, handle);
  if (isProblem(grant)) return problemToolResult(grant, handle);
  const result = drafts === null || grant === null ? { result_data } : await drafts.collect(grant);
  if (isProblem(result)) return problemToolResult(result, handle);
  if (isDraftRefusal(result)) return successResult(renderDraftRefusal(result, handle));
  const evaluatorFields = evaluators === undefined ? {} : { evaluators: withResultCounts(evaluators) };
  const reply = await client.submitResult({ ...handle, ...result, iteration, ...evaluatorFields });
  if (isProblem(reply)) return problemToolResult(reply, handle);
  if (reply.accepted && drafts !== null && grant !== null) await drafts.remove(grant);
  return successResult(renderSubmissionOrRelease(reply, handle));
}

/** A sentence about what is wrong with the arguments and how to call correctly; null if nothing is wrong. */
function callFault(
  { handle, result_data }: z.infer<typeof draftsSubmission>,
  isFromDrafts: boolean,
  hasDrafts: boolean,
): string | null {
  const isEdge = subjectKindOf(handle.task_id) === 'edge';
  if (isFromDrafts && result_data !== undefined)
    return 'Both drafts and result_data are given. Pass drafts: true to submit the files of the draft folder, or result_data, not both.';
  if (isFromDrafts && !isEdge)
    return `${handle.task_id} is a task, and only edges have drafts. Call submit with result_data instead of drafts.`;
  if (isFromDrafts || result_data !== undefined) return null;
  const alternative = hasDrafts && isEdge ? ', or drafts: true for the files of the draft folder' : '';
  return `No result is given. Call submit with this handle and result_data${alternative}.`;
}

const invalidCall = (detail: string): ApiProblem => ({ code: 'INVALID_REQUEST', status: 400, detail });

/** The draft folder is named after the agent. The handle does not name the agent, so the history is read. */
async function grantOf(
  client: ApiClient,
  { task_id, generation }: McpHandle,
): Promise<DraftGrant | ApiProblem> {
  const history = await client.history(task_id);
  if (isProblem(history)) return history;
  const entry = history.generations.find((each) => each.generation === generation);
  if (entry !== undefined) return { task_id, generation, agent_id: entry.agent_id };
  return invalidCall(`Generation ${generation} of ${task_id} is unknown. Call next to get a valid handle.`);
}
