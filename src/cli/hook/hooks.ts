import type { RenewalResult } from '../../coordinator/wire.js';
import { type Handle, isTrouble, type Trouble } from '../../server/mcp/fleet.js';
import { foundHandles } from './found-handles.js';
import type { Held, HookMemory } from './hook-memory.js';

/** What Claude Code, Codex and Gemini CLI all write to the standard input of a hook. */
export interface HookEvent {
  readonly session_id?: string;
  readonly hook_event_name?: string;
  readonly tool_response?: unknown;
}

/** How a conversation's claims are kept: what it remembers, how one is renewed, and the time. */
export interface Keeping {
  readonly memory: HookMemory;
  readonly renew: (handle: Handle) => Promise<RenewalResult | Trouble>;
  readonly now_ms: number;
}

/** Of what is left of a lease: by then it is renewed again, at the next use of a tool. */
const RENEWED_AT = 0.2;

/** A tool was used, so somebody is alive. Returns what the model must hear, or null. */
export async function afterTool(event: HookEvent, keeping: Keeping): Promise<string | null> {
  const { memory } = keeping;
  for (const handle of foundHandles(event.tool_response)) await memory.keep({ handle, renew_at_ms: 0 });
  const due = (held: Held) => held.renew_at_ms <= keeping.now_ms;
  const { lost } = await renewHeld(keeping, due);
  const sentences = lost.map(lostSentence);
  if (await memory.takeCompacted()) sentences.push(...(await memory.held()).map(heldSentence));
  return sentences.length === 0 ? null : sentences.join('\n');
}

/** A conversation begins, or goes on without its memory: it is told what it holds. */
export async function atStart(keeping: Keeping): Promise<string | null> {
  const { lost } = await renewHeld(keeping, () => true);
  const sentences = [...lost.map(lostSentence), ...(await keeping.memory.held()).map(heldSentence)];
  return sentences.length === 0 ? null : sentences.join('\n');
}

async function renewHeld(keeping: Keeping, isDue: (held: Held) => boolean): Promise<{ lost: Handle[] }> {
  const { memory, renew, now_ms } = keeping;
  const lost: Handle[] = [];
  const due = (await memory.held()).filter(isDue);
  await Promise.all(
    due.map(async ({ handle }) => {
      const reply = await renew(handle);
      if (isTrouble(reply)) return;
      if (reply.success) {
        const left_ms = reply.new_expiry === null ? 0 : Date.parse(reply.new_expiry) - now_ms;
        return memory.keep({ handle, renew_at_ms: now_ms + Math.max(left_ms, 0) * RENEWED_AT });
      }
      // Nobody holds what it submitted or gave back itself: that is not lost.
      if (reply.reason !== 'NO_CLAIM') lost.push(handle);
      return memory.forget(handle);
    }),
  );
  return { lost };
}

const heldSentence = ({ handle }: Held): string =>
  `You hold ${handle.task_id}. Handle for renew, note, submit and release: ${JSON.stringify(handle)}`;

const lostSentence = ({ task_id, generation }: Handle): string =>
  `You no longer hold ${task_id} (generation ${generation}). Stop that work; explain tells why, next gives other work.`;
