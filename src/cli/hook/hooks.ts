import type { RenewalResult } from '../../coordinator/wire.js';
import { isMcpProblem, type McpHandle, type McpProblem } from '../../server/mcp/backend.js';
import { findHandles } from './find-handles.js';
import type { HeldHandle, HookState } from './hook-state.js';

/** What Claude Code, Codex and Gemini CLI all write to the standard input of a hook. */
export interface HookEvent {
  readonly session_id?: string;
  readonly hook_event_name?: string;
  readonly tool_response?: unknown;
}

/** How a conversation's claims are kept: what it remembers, how one is renewed, and the time. */
export interface HookContext {
  readonly state: HookState;
  readonly renew: (handle: McpHandle) => Promise<RenewalResult | McpProblem>;
  readonly now_ms: number;
}

/** Of what is left of a lease: by then it is renewed again, at the next use of a tool. */
const RENEW_AT_LEASE_FRACTION = 0.2;

/** A tool was used, so somebody is alive. Returns what the model must hear, or null. */
export async function onToolUse(event: HookEvent, hookContext: HookContext): Promise<string | null> {
  const { state } = hookContext;
  for (const handle of findHandles(event.tool_response)) await state.saveHandle({ handle, renew_at_ms: 0 });
  const isDue = (held: HeldHandle) => held.renew_at_ms <= hookContext.now_ms;
  const { lost } = await renewHeld(hookContext, isDue);
  const sentences = lost.map(lostSentence);
  if (await state.consumeCompacted()) sentences.push(...(await state.heldHandles()).map(heldSentence));
  return sentences.length === 0 ? null : sentences.join('\n');
}

/** A conversation begins, or goes on without its memory: it is told what it holds. */
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
      // Nobody holds what it submitted or gave back itself: that is not lost.
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
