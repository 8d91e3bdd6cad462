import type { z } from 'zod';
import type { ApiClient } from '../../client/api-client.js';
import { type ApiProblem, isProblem } from '../../client/replies.js';
import type { Action } from '../../core/contract/operation.js';
import type { McpDrafts } from './drafts.js';
import type { McpHandle } from './handle.js';
import { type Claimant, renderProblem, type ToolContent } from './tool-content.js';

/** The default agent and session, for calls that name none. */
export type McpIdentity = { readonly [Field in keyof Claimant]?: Claimant[Field] | undefined };

/** The services that a tool uses, and the default identity of its caller. */
export interface ToolContext {
  readonly client: ApiClient;
  readonly identity: McpIdentity;
  /** Null if the server cannot reach the agent's files. */
  readonly drafts: McpDrafts | null;
}

/** `isError`: the result reports a faulty call rather than a decision. */
export type ToolResult = ReturnType<typeof successResult> & { readonly isError?: true };

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly action: Action;
  readonly run: (context: ToolContext, args: unknown) => Promise<ToolResult>;
}

export function defineTool<Input extends z.ZodType>(
  name: string,
  description: string,
  action: Action,
  input: Input,
  run: (context: ToolContext, args: z.infer<Input>) => Promise<ToolResult>,
): McpTool {
  // `input` has validated the arguments before `run` gets them.
  return { name, description, action, input, run: run as McpTool['run'] };
}

/** A result as text only, because every client shows text to its model. */
export const successResult = (content: ToolContent) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(content) }],
});

export function replyResult<T extends object>(
  reply: T | ApiProblem,
  render: (result: T) => ToolContent,
  handle?: McpHandle,
): ToolResult {
  return isProblem(reply) ? problemToolResult(reply, handle) : successResult(render(reply));
}

/** The result of a faulty call. It repeats the handle, whose claim is unchanged: the model may remember only this reply. */
export const problemToolResult = (problem: ApiProblem, handle?: McpHandle): ToolResult => ({
  ...successResult(renderProblem(problem, handle)),
  isError: true,
});
