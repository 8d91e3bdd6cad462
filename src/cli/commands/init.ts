import { Option } from 'commander';
import { PROJECT_KINDS } from '../../workspace/project-kinds.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import type { InitOptions } from '../workspace/init.js';

export const addInit: AddCommands = (program, wrapAction) => {
  program
    .command('init')
    .description('make a workspace here: topology, edges, profiles, roles, constraints, inboxes and a log')
    .option('--name <text>', 'what the project is called; its id is made from it')
    .addOption(
      new Option('--kind <kind>', 'what it is; a library works by the full profile').choices(PROJECT_KINDS),
    )
    .option('--language <name>', 'what it is written in')
    .option('--test-runner <command>', 'what runs its tests')
    .option('--intent <text>', 'what it is for')
    .option('--force', 'write the files under graph/ anew; nothing else is ever overwritten')
    .addHelpText(
      'after',
      '\nAt a terminal and without options it asks five questions. What is there already stays as it is.\n\nExamples:\n  gen init\n  gen init --name shop --kind service --intent "Sell books"\n  gen init --force',
    )
    .action(wrapAction(init));
};

async function init(context: CommandContext, options: InitOptions): Promise<void> {
  // Lazy import: other commands do not pay its load time.
  const { initHere } = await import('../workspace/init.js');
  await initHere(context, options);
}
