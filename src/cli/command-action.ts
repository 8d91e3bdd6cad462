import type { Command } from 'commander';
import type { CommandContext } from './context.js';

/** Makes a command's action out of one that has a context: it ends with an exit code, whatever happens. */
export type ActionWrapper = <Args extends unknown[]>(
  action: (context: CommandContext, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

/** Adds a command, or a family of them, to the command line. */
export type AddCommands = (program: Command, wrapAction: ActionWrapper) => void;
