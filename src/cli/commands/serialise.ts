import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';

export const addSerialise: AddCommands = (program, wrapAction) => {
  program
    .command('serialise')
    .description(
      'decide what agents have dropped into the inboxes of this workspace, and leave them the outcomes',
    )
    .option('--watch', 'go on until told to stop')
    .addHelpText(
      'after',
      '\nAn agent moves a file into .ai-workspace/events/inbox/AGENT_ID/ and waits for the file of the same name in\nevents/outcome/AGENT_ID/. A log has one writer: while gen up runs here, it serves the inboxes itself.\n\nExamples:\n  gen serialise\n  gen serialise --watch\n  gen serialise --json',
    )
    .action(wrapAction(serialise));
};

async function serialise(context: CommandContext, options: { watch?: true }): Promise<void> {
  // Lazy import: other commands do not pay its load time.
  const { serialiseHere } = await import('../workspace/serialise.js');
  await serialiseHere(context, options.watch === true);
}
