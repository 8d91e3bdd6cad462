import { type ApiProblem, isProblem, type RenewalReply } from '../../client/replies.js';
import type { McpHandle } from '../../server/mcp/handle.js';
import { findHandles } from './find-handles.js';
import type { HeldHandle, HookState } from './hook-state.js';

/** The fields that Claude Code, Codex and Gemini CLI all write to a hook's standard input. */
export interface HookEvent {
  readonly session_id?: string;
  readonly hook_event_name?: string;
  readonly tool_response?: unknown;
}

export interface HookContext {
  readonly state: HookState;
  readonly renew: (handle: McpHandle) => Promise<RenewalReply | ApiProblem>;
}

/** Fraction of the remaining lease after which the next tool use renews it again. */
const RENEW_AT_LEASE_FRACTION = 0.2;

/** Handles a tool use, which shows that the conversation is alive. Returns the text for the model, or null. */
export async function onToolUse(event: HookEvent, hookContext: HookContext): Promise<string | null> {
  const { state } = hookContext;
  for (const handle of findHandles(event.tool_response)) await state.saveHandle({ handle, renew_at_ms: 0 });
  const lost = await renewHeld(hookContext, ({ renew_at_ms }) => renew_at_ms <= Date.now());
  const sentences = lost.map(lostText);
  if (await state.consumeCompacted()) sentences.push(...(await state.heldHandles()).map(heldText));
  return textOf(sentences);
}

/**
 * Handles the start of a conversation, or its continuation after compaction: returns the handles that the conversation
 * holds. Output of `PreCompress` would be lost, so the handles are then announced after the next tool use.
 */
export async function announceHandles(event: HookEvent, hookContext: HookContext): Promise<string | null> {
  const { state } = hookContext;
  if (event.hook_event_name === 'PreCompress') {
    await state.markCompacted();
    return null;
  }
  const lost = await renewHeld(hookContext, () => true);
  return textOf([...lost.map(lostText), ...(await state.heldHandles()).map(heldText)]);
}

const textOf = (sentences: readonly string[]): string | null =>
  sentences.length === 0 ? null : sentences.join('\n');

/** Renews the held claims that are due. Returns those that were lost. */
async function renewHeld(
  { state, renew }: HookContext,
  isDue: (held: HeldHandle) => boolean,
): Promise<McpHandle[]> {
  const lost: McpHandle[] = [];
  const due = (await state.heldHandles()).filter(isDue);
  await Promise.all(
    due.map(async ({ handle }) => {
      const reply = await renew(handle);
      if (isProblem(reply)) return;
      if (reply.success) {
        const remainingMs = reply.new_expiry === null ? 0 : Date.parse(reply.new_expiry) - Date.now();
        const renew_at_ms = Date.now() + Math.max(remainingMs, 0) * RENEW_AT_LEASE_FRACTION;
        return state.saveHandle({ handle, renew_at_ms });
      }
      // Without a claim, the conversation has usually submitted or released the work itself, so it is not told of a loss.
      if (reply.reason !== 'NO_CLAIM') lost.push(handle);
      return state.removeHandle(handle);
    }),
  );
  return lost;
}

const heldText = ({ handle }: HeldHandle): string =>
  `You hold ${handle.task_id}. Handle for renew, note, submit and release: ${JSON.stringify(handle)}`;

const lostText = ({ task_id, generation }: McpHandle): string =>
  `You no longer hold ${task_id} (generation ${generation}). Stop working on it. ` +
  'Call status with task_id for the reason, or next for other work.';
