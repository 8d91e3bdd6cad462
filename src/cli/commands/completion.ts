import { Argument, type Command } from 'commander';
import type { AddCommands } from '../command.js';
import type { CommandContext } from '../context.js';
import { COMPLETION_SCRIPTS, type CommandCompletions } from '../output/completion.js';

export const completionCommand: AddCommands = (program, wrapAction) => {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'shell to complete in').choices(Object.keys(COMPLETION_SCRIPTS)))
    .description('print the completion script for a shell')
    .addHelpText(
      'after',
      `
Examples:
  source <(gen completion bash)
  gen completion zsh > "\${fpath[1]}/_gen"
  gen completion fish > ~/.config/fish/completions/gen.fish`,
    )
    .action(
      wrapAction(async (context: CommandContext, shell: keyof typeof COMPLETION_SCRIPTS) => {
        context.print(COMPLETION_SCRIPTS[shell](completionsOf(program)));
      }),
    );
};

/** Every command by its path, with the subcommands and options that may follow it. */
function completionsOf(command: Command, path: readonly string[] = []): CommandCompletions[] {
  const subcommands = command.commands.map((each) => ({
    name: each.name(),
    description: each.description(),
  }));
  const help = command.createHelp();
  const options = [
    ...help.visibleOptions(command),
    ...(path.length === 0 ? [] : help.visibleGlobalOptions(command)),
  ]
    .filter(({ long }) => long !== undefined && long !== null)
    .map(({ long, description }) => ({ name: long as string, description }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const words = [...subcommands, ...choices.map((name) => ({ name, description: '' }))];
  const completions = { path, words, options };
  return [completions, ...command.commands.flatMap((each) => completionsOf(each, [...path, each.name()]))];
}
