import type { Readable } from 'node:stream';
import type { AddCommands } from './command-action.js';
import type { CommandContext } from './context.js';
import { HookState } from './hook/hook-state.js';
import { type HookContext, type HookEvent, onConversationStart, onToolUse } from './hook/hooks.js';
import { SdkFleet } from './mcp/sdk-fleet.js';

export const addHook: AddCommands = (program, wrapAction) => {
  const hook = program
    .command('hook')
    .description('what coding agents call by themselves, once set up (gen setup)');
  hook
    .command('renew')
    .description('after the use of a tool: keep the claims of this conversation')
    .action(wrapAction((context) => runHook(context, onToolUse)));
  hook
    .command('handles')
    .description('at the start of a conversation, or before its context is cut: tell it what it holds')
    .action(wrapAction((context) => runHook(context, announceHandles)));
};

type HookHandler = (event: HookEvent, keeping: HookContext) => Promise<string | null>;

/** Announces the held handles. Output of `PreCompress` would be lost, so it is deferred to the next tool use. */
const announceHandles: HookHandler = async (event, hookContext) => {
  if (event.hook_event_name !== 'PreCompress') return onConversationStart(hookContext);
  await hookContext.state.markCompacted();
  return null;
};

/** Runs a hook. It always replies and exits with 0, so that a failure never blocks the client. */
async function runHook(context: CommandContext, hook: HookHandler): Promise<void> {
  const event = await readEvent(context.io.stdin);
  const { session_id, hook_event_name } = event;
  let additionalContext: string | null = null;
  try {
    if (session_id !== undefined) {
      const fleet = new SdkFleet(await context.genesis());
      const state = new HookState(context.io, session_id);
      const renew: HookContext['renew'] = (handle) => fleet.renew(handle);
      additionalContext = await hook(event, { state, renew, now_ms: Date.now() });
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
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  try {
    const event: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return typeof event === 'object' && event !== null ? event : {};
  } catch {
    return {};
  }
}
