import type { Command } from 'commander';
import { closestNames } from '../core/closest-names.js';
import { type CommandFailure, wrongUsage } from './exit.js';

/**
 * The refusal of a word that is not a command; null if the word is a command or `help`, or if there is none. People often omit
 * the group of a command, so `gen explain` suggests `gen task explain`.
 */
export function unknownCommand(program: Command, word: string | undefined): CommandFailure | null {
  if (word === undefined || word === 'help' || program.commands.length === 0) return null;
  // Commands for programs, such as the agents of the demo, have no description and are not suggested.
  const groups = program.commands.filter((command) => command.description() !== '');
  if (program.commands.some((command) => namesOf(command).includes(word))) return null;
  const inGroups = groups.flatMap((group) =>
    group.commands.map((command) => ({ name: command.name(), path: `${group.name()} ${command.name()}` })),
  );
  const exact = inGroups.filter(({ name }) => name === word).map(({ path }) => path);
  const closest =
    exact.length > 0
      ? exact
      : closestNames(
          word,
          groups.map((group) => group.name()),
        );
  const suggestion =
    closest.length === 0
      ? 'List the commands: gen --help'
      : `Did you mean ${closest.map((path) => `gen ${path}`).join(' or ')}?`;
  return wrongUsage(`There is no command gen ${word}. ${suggestion}`);
}

const namesOf = (command: Command): string[] => [command.name(), ...command.aliases()];
