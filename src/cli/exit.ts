import { singleLine } from './output/text.js';

/** Exit codes. `stopped` means that a signal stopped the command; its code is the shell's convention for Ctrl-C. */
export const EXIT = { done: 0, refused: 1, usage: 2, human: 3, stopped: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Codes that only a person can resolve. */
const HUMAN_NEEDED = new Set(['DENIED_HELD', 'ESCALATED', 'COMMAND_NOT_CONFIRMED', 'NO_SANDBOX']);
/** Codes of malformed requests, which stay invalid. The code of an invalid plan is not here: the plan may become valid later. */
const WRONG_INPUT = new Set(['INVALID_REQUEST', 'INVALID_LEASE', 'INVALID_EVENT', 'CLAIM_ID_REQUIRED']);

/** Maps the code of a refusal or a problem to the exit code. No other function does. */
export function exitFor(code: string): ExitCode {
  if (HUMAN_NEEDED.has(code)) return EXIT.human;
  return WRONG_INPUT.has(code) ? EXIT.usage : EXIT.refused;
}

/** A failure that no server reported, in the shape of a server's problem. It has no HTTP status, so `status` is 0. */
const localProblem = (code: string, detail: string) => ({ code, detail, status: 0 });

/** A failure that ends the command: a message for the user, and an exit code. */
export class CommandFailure extends Error {
  /** Output for `--json`: the server's problem, or its local equivalent. */
  readonly body: unknown;

  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT.refused,
    body?: unknown,
  ) {
    super(message);
    this.body = body ?? localProblem(exitCode === EXIT.usage ? 'WRONG_USAGE' : 'FAILED', message);
  }
}

export const wrongUsage = (message: string): CommandFailure => new CommandFailure(message, EXIT.usage);

export const failureWithCode = (code: string, message: string): CommandFailure =>
  new CommandFailure(message, exitFor(code), localProblem(code, message));

export const workspaceMissing = (folder: string): CommandFailure =>
  failureWithCode(
    'NO_WORKSPACE',
    `No workspace in ${singleLine(folder)} or any folder above it. Create one: gen init. ` +
      'For a project on a server, pass --url URL --project NAME.',
  );

/** A file argument that cannot be read; `consequences` say what was not done because of it. */
export const fileUnreadable = (file: string, error: unknown, ...consequences: string[]): CommandFailure =>
  failureWithCode(
    'FILE_UNREADABLE',
    [`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`, ...consequences].join(' '),
  );
