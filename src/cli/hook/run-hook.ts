import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Io } from '../io.js';
import { jsonOrText } from '../json-or-text.js';
import { HookState } from './hook-state.js';
import { announceHandles, type HookContext, type HookEvent, onToolUse } from './hooks.js';

/** The hooks by their name. A hook runs after every tool call, so this module imports only what a hook needs. */
const HOOKS = { renew: onToolUse, handles: announceHandles } as const;
export type HookName = keyof typeof HOOKS;
export const isHookName = (word: string | undefined): word is HookName => Object.hasOwn(HOOKS, word ?? '');

/** Runs a hook. It always replies and never fails, so that a failure never blocks the client. */
export async function runHook(
  io: Pick<Io, 'stdin' | 'stdout' | 'stderr' | 'env'>,
  name: HookName,
  renew: HookContext['renew'],
): Promise<void> {
  const event = await readEvent(io.stdin);
  const { session_id, hook_event_name } = event;
  let additionalContext: string | null = null;
  try {
    if (session_id !== undefined) {
      additionalContext = await HOOKS[name](event, { state: new HookState(io, session_id), renew });
    }
  } catch (error) {
    io.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  }
  const output =
    additionalContext === null
      ? {}
      : { hookSpecificOutput: { hookEventName: hook_event_name, additionalContext } };
  io.stdout.write(`${JSON.stringify(output)}\n`);
}

async function readEvent(stdin: Readable): Promise<HookEvent> {
  const event = jsonOrText(await text(stdin));
  return typeof event === 'object' && event !== null ? event : {};
}
