import type { Command } from 'commander';
import type { CommandContext } from './context.js';

/** Turns an action that takes a context into a commander action. The wrapped action always sets an exit code. */
export type ActionWrapper = <Args extends unknown[]>(
  action: (context: CommandContext, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

/** Adds a command, or a group of commands, to the program. */
export type AddCommands = (program: Command, wrapAction: ActionWrapper) => void;
