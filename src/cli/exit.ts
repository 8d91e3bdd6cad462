/** What a command's end tells the shell. */
export const EXIT = { done: 0, refused: 1, usage: 2, human: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command that cannot go on: what happened and what to do, for a person, and the exit code for the shell. */
export class CommandFailure extends Error {
  constructor(
    message: string,
    readonly exit_code: ExitCode = EXIT.refused,
    /** What the server said, for `--json`. */
    readonly body: unknown = null,
  ) {
    super(message);
  }
}

export const wrongUsage = (message: string): CommandFailure => new CommandFailure(message, EXIT.usage);
