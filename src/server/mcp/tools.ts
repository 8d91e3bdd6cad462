import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { withExpectedGeneration } from '../../client/renewer.js';
import { type ApiProblem, isProblem } from '../../client/replies.js';
import { releaseBody } from '../../core/contract/claim-bodies.js';
import type { ClaimResult } from '../../core/contract/claim-replies.js';
import { WORK_KINDS } from '../../core/contract/values.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineTool, type McpIdentity, type McpTool, replyResult, type ToolResult } from './define-tool.js';
import type { McpDrafts } from './drafts.js';
import { handleArgument } from './handle.js';
import { readResult, renderResult } from './result-tool.js';
import { submitTool } from './submit-tool.js';
import {
  type Claimant,
  omitEmpty,
  renderClaim,
  renderRenewalOrNote,
  renderStatus,
  renderSubmissionOrRelease,
} from './tool-content.js';

/**
 * The schemas contain only what a model needs for a call, because they stay in its context. The coordinator validates
 * the values, as for every other interface.
 */
const optionalSeconds = z.number().optional();
const claimantFields = {
  agent_id: z.string().optional(),
  session_id: z.string().optional().describe('From your last reply'),
};

const nextTool = defineTool(
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
  async ({ client, identity, drafts }, { agent_id, session_id, ...request }) => {
    const claimant = claimantOf({ agent_id, session_id }, identity);
    const wanted = { kinds: [...WORK_KINDS], resume: true, ...withoutUndefined(request) };
    return claimToolResult(await client.next({ ...wanted, ...claimant }), claimant, drafts);
  },
);

const claimTool = defineTool(
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
  async ({ client, identity, drafts }, { agent_id, session_id, ...request }) => {
    const claimant = claimantOf({ agent_id, session_id }, identity);
    const reply = await client.claimTask({ ...request, ...claimant, resume: true, with_briefing: true });
    return claimToolResult(reply, claimant, drafts);
  },
);

const renewTool = defineTool(
  'renew',
  'Renew the lease of work you hold. A refusal means that you lost it: stop.',
  'work',
  z.strictObject({ handle: handleArgument, lease_duration_seconds: optionalSeconds }),
  async ({ client }, { handle, lease_duration_seconds }) =>
    replyResult(
      await client.renewLease({ ...withExpectedGeneration(handle), lease_duration_seconds }),
      (result) => renderRenewalOrNote(result, handle),
      handle,
    ),
);

const releaseTool = defineTool(
  'release',
  'Release unfinished work: VOLUNTARY, or ERROR with a message if it failed.',
  'work',
  z.strictObject({
    handle: handleArgument,
    reason: releaseBody.shape.reason.unwrap().optional(),
    message: z.string().optional(),
  }),
  async ({ client }, { handle, ...request }) =>
    replyResult(
      await client.releaseClaim(withoutUndefined({ ...withExpectedGeneration(handle), ...request })),
      (result) => renderSubmissionOrRelease(result, handle),
      handle,
    ),
);

const noteTool = defineTool(
  'note',
  'Leave a note on work you hold for its next holder (at most 4 KiB).',
  'work',
  z.strictObject({ handle: handleArgument, text: z.string() }),
  async ({ client }, { handle, text }) => {
    // Over HTTP no timer renews the claim, so this call does.
    await client.renewLease(withExpectedGeneration(handle));
    const reply = await client.note({ ...handle, text });
    return replyResult(reply, (result) => renderRenewalOrNote(result, handle), handle);
  },
);

const statusTool = defineTool(
  'status',
  'Get the project status: progress, claims, and what waits for a person. With task_id: why that work can or cannot be claimed now, and what to do next.',
  'read',
  z.strictObject({ task_id: z.string().optional(), session_id: claimantFields.session_id }),
  async ({ client, identity }, { task_id, session_id }) =>
    task_id === undefined
      ? replyResult(await client.status(), renderStatus)
      : replyResult(await client.explain(task_id, session_id ?? identity.session_id), omitEmpty),
);

const resultTool = defineTool(
  'result',
  'Read the accepted result of a task, the result of a generation, or a parked result by its result_id.',
  'read',
  z.strictObject({
    task_id: z.string(),
    generation: z.number().optional(),
    result_id: z.string().optional(),
  }),
  async ({ client }, wanted) => replyResult(await readResult(client, wanted), renderResult),
);

/** `hasDrafts`: the server can reach the agent's files. */
export const toolsOf = (hasDrafts: boolean): readonly McpTool[] => [
  nextTool,
  claimTool,
  renewTool,
  submitTool(hasDrafts),
  releaseTool,
  noteTool,
  statusTool,
  resultTool,
];

/** A grant names the folder that its holder writes to. */
async function claimToolResult(
  reply: ClaimResult | ApiProblem,
  claimant: Claimant,
  drafts: McpDrafts | null,
): Promise<ToolResult> {
  const isGranted = !isProblem(reply) && reply.success;
  const draftFolder = isGranted ? ((await drafts?.prepare(reply.claim)) ?? null) : null;
  return replyResult(reply, (result) => renderClaim(result, claimant, draftFolder));
}

/** A caller without a session gets a new one, returned in the reply: agents sharing one would be indistinguishable. */
function claimantOf(fromCall: McpIdentity, fallback: McpIdentity): Claimant {
  const session_id =
    fromCall.session_id ?? fallback.session_id ?? `mcp-${randomBytes(SESSION_BYTES).toString('hex')}`;
  return { session_id, agent_id: fromCall.agent_id ?? fallback.agent_id ?? session_id };
}

const SESSION_BYTES = 8;
