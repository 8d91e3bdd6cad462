import type { Command } from 'commander';
import type { CommandContext } from './context.js';
import { addOptions, type OptionsOf, type OptionTable } from './option-table.js';

/** Turns an action that takes a context into a commander action. The wrapped action always sets an exit code. */
export type ActionWrapper = <Args extends unknown[]>(
  action: (context: CommandContext, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

/** Adds commands to the program, or to a group of commands. */
export type AddCommands = (parent: Command, wrapAction: ActionWrapper) => void;

type ArgumentsOf<Usage extends string> = Usage extends `${infer Word} ${infer Rest}`
  ? [...ArgumentOf<Word>, ...ArgumentsOf<Rest>]
  : ArgumentOf<Usage>;
type ArgumentOf<Word> = Word extends `<${string}...>`
  ? [string[]]
  : Word extends `[${string}...]`
    ? [string[]]
    : Word extends `<${string}>`
      ? [string]
      : Word extends `[${string}]`
        ? [string | undefined]
        : [];

interface CommandDetails<Usage extends string, Table extends OptionTable> {
  readonly description: string;
  readonly options?: Table;
  /** Shown after the options: notes and examples. */
  readonly help?: string;
  /** Replaces the usage line of the help. */
  readonly synopsis?: string;
  readonly hidden?: true;
  readonly subcommands?: readonly AddCommands[];
  readonly run?: (
    context: CommandContext,
    ...args: [...ArgumentsOf<Usage>, OptionsOf<Table>]
  ) => Promise<void>;
}

/** Defines a command, or a group of commands. `usage` is its name and its arguments. */
export function defineCommand<
  const Usage extends string,
  const Table extends OptionTable = Readonly<Record<never, never>>,
>(usage: Usage, details: CommandDetails<Usage, Table>): AddCommands {
  const { description, options = {}, help, synopsis, hidden = false, subcommands = [], run } = details;
  return (parent, wrapAction) => {
    const added = parent.command(usage, { hidden }).description(description);
    if (synopsis !== undefined) added.usage(synopsis);
    addOptions(added, options);
    if (help !== undefined) added.addHelpText('after', help);
    if (run !== undefined) added.action(wrapAction(run));
    for (const add of subcommands) add(added, wrapAction);
  };
}

/** Combines several commands that one module defines. */
export const combineCommands =
  (...parts: readonly AddCommands[]): AddCommands =>
  (parent, wrapAction) => {
    for (const add of parts) add(parent, wrapAction);
  };
