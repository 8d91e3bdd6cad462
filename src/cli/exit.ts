/** What a command's end tells the shell. */
export const EXIT = { done: 0, refused: 1, usage: 2, human: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What only a human can settle. */
const HUMAN_NEEDED = new Set(['DENIED_HELD', 'ESCALATED']);
/** What was asked in a form that no state of the work could make right. A plan may be right tomorrow. */
const WRONG_INPUT = new Set(['INVALID_REQUEST', 'INVALID_LEASE', 'INVALID_EVENT', 'CLAIM_ID_REQUIRED']);

/** The one place from what a refusal or a problem is called to the exit code. */
export function exitFor(code: string): ExitCode {
  if (HUMAN_NEEDED.has(code)) return EXIT.human;
  return WRONG_INPUT.has(code) ? EXIT.usage : EXIT.refused;
}

/** What failed before anybody could be asked, in the shape of what a server finds wrong. */
export const localProblem = (code: string, detail: string) => ({ code, detail, status: 0 });

/** A command that cannot go on: what happened and what to do, for a person, and the exit code for the shell. */
export class CommandFailure extends Error {
  /** For `--json`: what the server said, or the same of what happened here. */
  readonly body: unknown;

  constructor(
    message: string,
    readonly exit_code: ExitCode = EXIT.refused,
    body?: unknown,
  ) {
    super(message);
    this.body = body ?? localProblem(exit_code === EXIT.usage ? 'WRONG_USAGE' : 'FAILED', message);
  }
}

export const wrongUsage = (message: string): CommandFailure => new CommandFailure(message, EXIT.usage);

/** A failure with a name of its own. */
export const failureWithCode = (code: string, message: string): CommandFailure =>
  new CommandFailure(message, exitFor(code), localProblem(code, message));

export const noWorkspace = (message: string): CommandFailure => failureWithCode('NO_WORKSPACE', message);

/** Of a file that was named and is not to be had; `more`: what did not happen because of it. */
export const fileUnreadable = (file: string, error: unknown, ...consequences: string[]): CommandFailure =>
  failureWithCode(
    'FILE_UNREADABLE',
    [`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`, ...consequences].join(' '),
  );
