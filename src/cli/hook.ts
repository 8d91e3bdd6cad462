import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { withExpectedGeneration } from '../client/renewer.js';
import { command } from './command.js';
import type { CommandContext } from './context.js';
import { HookState } from './hook/hook-state.js';
import { announceHandles, type HookContext, type HookEvent, onToolUse } from './hook/hooks.js';
import { jsonOrText } from './json-or-text.js';

const renew = command('renew', {
  description: 'after a tool call: renew the claims of this conversation',
  run: (context) => runHook(context, onToolUse),
});

const handles = command('handles', {
  description: 'at the start of a conversation, or before its context is compacted: list its handles',
  run: (context) => runHook(context, announceHandles),
});

export const addHook = command('hook', {
  description: 'run a hook of a coding agent (see gen setup)',
  subcommands: [renew, handles],
});

/** Runs a hook. It always replies and exits with 0, so that a failure never blocks the client. */
async function runHook(
  context: CommandContext,
  hook: (event: HookEvent, hookContext: HookContext) => Promise<string | null>,
): Promise<void> {
  const event = await readEvent(context.io.stdin);
  const { session_id, hook_event_name } = event;
  let additionalContext: string | null = null;
  try {
    if (session_id !== undefined) {
      const genesis = await context.genesis();
      const state = new HookState(context.io, session_id);
      const renew: HookContext['renew'] = (handle) => genesis.renewLease(withExpectedGeneration(handle));
      additionalContext = await hook(event, { state, renew });
    }
  } catch (error) {
    context.printNotice(error instanceof Error ? error.message : String(error));
  }
  const output =
    additionalContext === null
      ? {}
      : { hookSpecificOutput: { hookEventName: hook_event_name, additionalContext } };
  context.printJson(output);
}

async function readEvent(stdin: Readable): Promise<HookEvent> {
  const event = jsonOrText(await text(stdin));
  return typeof event === 'object' && event !== null ? event : {};
}
