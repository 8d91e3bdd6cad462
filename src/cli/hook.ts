import type { Readable } from 'node:stream';
import type { AddCommands } from './act.js';
import type { Context } from './context.js';
import { HookMemory } from './hook/hook-memory.js';
import { afterTool, atStart, type HookEvent, type Keeping } from './hook/hooks.js';
import { SdkFleet } from './mcp/sdk-fleet.js';

export const registerHook: AddCommands = (program, act) => {
  const hook = program
    .command('hook')
    .description('what coding agents call by themselves, once set up (gen setup)');
  hook
    .command('renew')
    .description('after the use of a tool: keep the claims of this conversation')
    .action(act((context) => answer(context, afterTool)));
  hook
    .command('handles')
    .description('at the start of a conversation, or before its context is cut: tell it what it holds')
    .action(act((context) => answer(context, told)));
};

type Hook = (event: HookEvent, keeping: Keeping) => Promise<string | null>;

/** Where nothing that is said now would be heard, it is said after the next use of a tool. */
const told: Hook = async (event, keeping) => {
  if (event.hook_event_name !== 'PreCompress') return atStart(keeping);
  await keeping.memory.markCompacted();
  return null;
};

/** A hook never stands in the way of the work it serves: whatever happens, it answers, and ends well. */
async function answer(context: Context, hook: Hook): Promise<void> {
  const event = await readEvent(context.io.stdin);
  const { session_id, hook_event_name } = event;
  let additionalContext: string | null = null;
  try {
    if (session_id !== undefined) {
      const fleet = new SdkFleet(await context.genesis());
      const memory = new HookMemory(context.io, session_id);
      const renew: Keeping['renew'] = (handle) => fleet.renew(handle);
      additionalContext = await hook(event, { memory, renew, now_ms: Date.now() });
    }
  } catch (error) {
    context.remark(error instanceof Error ? error.message : String(error));
  }
  const heard =
    additionalContext === null
      ? {}
      : { hookSpecificOutput: { hookEventName: hook_event_name, additionalContext } };
  context.printJson(heard);
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
