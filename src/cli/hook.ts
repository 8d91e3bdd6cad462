import { withExpectedGeneration } from '../client/renewer.js';
import { defineCommand } from './command.js';
import { type HookVerb, runHook } from './hook/run-hook.js';

const hookVerbCommand = (verb: HookVerb, description: string) =>
  defineCommand(verb, {
    description,
    run: (context) =>
      runHook(context.io, verb, async (handle) =>
        (await context.genesis()).renewLease(withExpectedGeneration(handle)),
      ),
  });

export const hookCommand = defineCommand('hook', {
  description: 'run a hook of a coding agent (see gen setup)',
  subcommands: [
    hookVerbCommand('renew', 'after a tool call: renew the claims of this conversation'),
    hookVerbCommand(
      'handles',
      'at the start of a conversation, or before its context is compacted: list its handles',
    ),
  ],
});
