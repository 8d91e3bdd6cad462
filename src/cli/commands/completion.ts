import { Argument, type Command } from 'commander';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import {
  type CommandCompletions,
  type CompletionShell,
  completionScript,
  SHELLS,
} from '../output/completion.js';

export const addCompletion: AddCommands = (program, wrapAction) => {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .description('print what teaches your shell these commands')
    .addHelpText(
      'after',
      `
Examples:
  source <(gen completion bash)
  gen completion zsh > "\${fpath[1]}/_gen"
  gen completion fish > ~/.config/fish/completions/gen.fish`,
    )
    .action(
      wrapAction(async (context: CommandContext, shell: CompletionShell) => {
        context.print(completionScript(shell, completionsOf(program)));
      }),
    );
};

/** Every command by its path, with the subcommands and options that may follow it. */
function completionsOf(command: Command, path: readonly string[] = []): CommandCompletions[] {
  const subcommands = command.commands.map((each) => ({ name: each.name(), does: each.description() }));
  const help = command.createHelp();
  const options = [
    ...help.visibleOptions(command),
    ...(path.length === 0 ? [] : help.visibleGlobalOptions(command)),
  ]
    .filter(({ long }) => long !== undefined && long !== null)
    .map(({ long, description }) => ({ name: long as string, does: description }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const words = [...subcommands, ...choices.map((name) => ({ name, does: '' }))];
  const own = { path, words, options };
  return [own, ...command.commands.flatMap((each) => completionsOf(each, [...path, each.name()]))];
}
