import { defineCommand } from '../command.js';

export const serialiseCommand = defineCommand('serialise', {
  description: 'process the command files in the inboxes of this workspace, and write the outcomes',
  options: { '--watch': 'keep running until stopped' },
  help: '\nAn agent moves a file into .ai-workspace/events/inbox/AGENT_ID/ and waits for the file of the same name in\nevents/outcome/AGENT_ID/. While gen up runs in this workspace, gen up processes the inboxes, because a log has one writer.\n\nExamples:\n  gen serialise\n  gen serialise --watch\n  gen serialise --json',
  // Imported lazily, to keep --help fast.
  run: async (context, { watch = false }) =>
    (await import('../workspace/serialise.js')).serialiseHere(context, watch),
});
