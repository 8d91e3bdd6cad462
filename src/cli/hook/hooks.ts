import type { RenewalResult } from '../../coordinator/wire/index.js';
import { isMcpProblem, type McpHandle, type McpProblem } from '../../server/mcp/backend.js';
import { findHandles } from './find-handles.js';
import type { HeldHandle, HookState } from './hook-state.js';

/** The fields that Claude Code, Codex and Gemini CLI all write to a hook's standard input. */
export interface HookEvent {
  readonly session_id?: string;
  readonly hook_event_name?: string;
  readonly tool_response?: unknown;
}

/** What a hook needs to keep a conversation's claims alive. */
export interface HookContext {
  readonly state: HookState;
  readonly renew: (handle: McpHandle) => Promise<RenewalResult | McpProblem>;
  readonly now_ms: number;
}

/** Fraction of the remaining lease after which the next tool use renews it again. */
const RENEW_AT_LEASE_FRACTION = 0.2;

/** Handles a tool use, which shows that the conversation is alive. Returns the text for the model, or null. */
export async function onToolUse(event: HookEvent, hookContext: HookContext): Promise<string | null> {
  const { state } = hookContext;
  for (const handle of findHandles(event.tool_response)) await state.saveHandle({ handle, renew_at_ms: 0 });
  const isDue = (held: HeldHandle) => held.renew_at_ms <= hookContext.now_ms;
  const { lost } = await renewHeld(hookContext, isDue);
  const sentences = lost.map(lostSentence);
  if (await state.consumeCompacted()) sentences.push(...(await state.heldHandles()).map(heldSentence));
  return sentences.length === 0 ? null : sentences.join('\n');
}

/** Handles the start of a conversation, or its continuation after compaction: returns the handles it holds. */
export async function onConversationStart(hookContext: HookContext): Promise<string | null> {
  const { lost } = await renewHeld(hookContext, () => true);
  const sentences = [...lost.map(lostSentence), ...(await hookContext.state.heldHandles()).map(heldSentence)];
  return sentences.length === 0 ? null : sentences.join('\n');
}

async function renewHeld(
  hookContext: HookContext,
  isDue: (held: HeldHandle) => boolean,
): Promise<{ lost: McpHandle[] }> {
  const { state, renew, now_ms } = hookContext;
  const lost: McpHandle[] = [];
  const due = (await state.heldHandles()).filter(isDue);
  await Promise.all(
    due.map(async ({ handle }) => {
      const reply = await renew(handle);
      if (isMcpProblem(reply)) return;
      if (reply.success) {
        const leftMs = reply.new_expiry === null ? 0 : Date.parse(reply.new_expiry) - now_ms;
        return state.saveHandle({
          handle,
          renew_at_ms: now_ms + Math.max(leftMs, 0) * RENEW_AT_LEASE_FRACTION,
        });
      }
      // The conversation submitted or released it, so the claim was not lost.
      if (reply.reason !== 'NO_CLAIM') lost.push(handle);
      return state.removeHandle(handle);
    }),
  );
  return { lost };
}

const heldSentence = ({ handle }: HeldHandle): string =>
  `You hold ${handle.task_id}. Handle for renew, note, submit and release: ${JSON.stringify(handle)}`;

const lostSentence = ({ task_id, generation }: McpHandle): string =>
  `You no longer hold ${task_id} (generation ${generation}). Stop that work; explain tells why, next gives other work.`;
