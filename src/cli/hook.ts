import { withExpectedGeneration } from '../client/renewer.js';
import { defineCommand } from './command.js';
import { type HookName, runHook } from './hook/run-hook.js';

const hookSubcommand = (name: HookName, description: string) =>
  defineCommand(name, {
    description,
    run: (context) =>
      runHook(context.io, name, async (handle) =>
        (await context.genesis()).renewLease(withExpectedGeneration(handle)),
      ),
  });

export const hookCommand = defineCommand('hook', {
  description: 'run a hook of a coding agent (see gen setup)',
  subcommands: [
    hookSubcommand('renew', 'after a tool call: renew the claims of this conversation'),
    hookSubcommand(
      'handles',
      'at the start of a conversation, or before its context is compacted: list its handles',
    ),
  ],
});
