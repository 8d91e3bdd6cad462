import { Command, CommanderError } from 'commander';
import { GenesisError } from '../client/replies.js';
import type { ActionWrapper, AddCommands } from './command.js';
import { CommandContext, GLOBAL_OPTIONS, type GlobalOptions } from './context.js';
import { CommandFailure, EXIT, type ExitCode, failureWithCode, wrongUsage } from './exit.js';
import { type Io, type RawIo, sanitizedIo } from './io.js';
import { addOptions } from './option-table.js';
import { printOtherServerNotice } from './other-server.js';
import { wrapNotice } from './output/wrap.js';
import { commandGroupsFor, commandNameIn } from './registry.js';
import { problemFailure } from './replies.js';
import { unknownCommand } from './unknown-command.js';
import { VERSION } from './version.js';

const EXAMPLES = `
Examples:
  gen up                                  start the coordinator
  gen plan import plan.yaml               import a plan
  gen next                                claim the best ready work
  gen task submit A-001-schema --file out.json
  gen run --loop -- ./agent.sh            run a program as a worker
  gen fleet -n 3 -- ./agent.sh            run several agents
  gen status --watch                      watch the progress
  gen verify                              verify the log

Exit codes: 0 success, 1 refused or not found, 2 wrong usage, 3 a person must act, 130 stopped by a signal.
Environment: GENESIS_URL, GENESIS_TOKEN, GENESIS_TENANT, GENESIS_PROJECT, GENESIS_AGENT, GENESIS_SESSION,
GENESIS_STORE, GENESIS_BLOBS, GENESIS_HOME, GENESIS_SIGNING_KEY. A coordinator also reads GENESIS_AUDIT_KEY,
GENESIS_AUDIT_PREVIOUS_KEY, GENESIS_AUDIT_SINKS, GENESIS_AUDIT_ANCHOR, GENESIS_WEBHOOK_SECRET and
GENESIS_WEBHOOK_ALLOW_PRIVATE.`;

/** Builds the program with these commands. `onExit` receives the exit code of the command that ran. */
export function buildProgram(
  io: Io,
  commandGroups: readonly AddCommands[],
  onExit: (code: ExitCode) => void,
): Command {
  const program = new Command('gen')
    .description('The coordinator for fleets of AI agents: one authoritative result for every task.')
    .version(VERSION, '-V', 'print the version (also: gen --version)')
    .addHelpText('after', EXAMPLES)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => io.columns ?? 100,
      getErrHelpWidth: () => io.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showSuggestionAfterError()
    .exitOverride();
  addOptions(program, GLOBAL_OPTIONS);
  const wrapAction: ActionWrapper = (action) =>
    async function (this: unknown, ...args) {
      const command = args.at(-1) as unknown as Command;
      const context = new CommandContext(io, command.optsWithGlobals<GlobalOptions>());
      try {
        await action(context, ...args);
        onExit(context.exit_code);
      } catch (error) {
        const { message, exitCode, body } = failureOf(error);
        if (context.is_json) context.printJson(body);
        context.printNotice(wrapNotice(message, io));
        if ((body as { code?: unknown }).code === 'UNKNOWN_PROJECT') printOtherServerNotice(context);
        onExit(exitCode);
      } finally {
        await context.close();
      }
    };
  for (const add of commandGroups) add(program, wrapAction);
  // Lists `help` under the last heading; otherwise commander gives it a heading of its own.
  return program.helpCommand(true);
}

/** Errors of stores and workspaces whose messages are for users, with their machine-readable codes. */
const ERROR_CODES = new Map([
  ['StoreRefused', 'STORE_REFUSED'],
  ['StoreUnavailable', 'UNAVAILABLE'],
  ['StoreUncertain', 'UNKNOWN'],
  ['StoreBroken', 'STORE_BROKEN'],
  ['LogDamaged', 'LOG_DAMAGED'],
  ['WorkspaceError', 'WORKSPACE_REFUSED'],
]);

/** The failure to report. Any unknown error is reported with its message. */
function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof GenesisError) return problemFailure(error.problem);
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return failureWithCode(ERROR_CODES.get(name) ?? 'FAILED', message);
}

/** Runs one command line. Throws only on bugs. `help` with several words becomes `--help` of that subcommand. */
export async function run(args: readonly string[], raw: RawIo): Promise<ExitCode> {
  const io = sanitizedIo(raw);
  const argv = args[0] === 'help' && args.length > 2 ? [...args.slice(1), '--help'] : args;
  let code: ExitCode = EXIT.done;
  const program = buildProgram(io, await commandGroupsFor(argv), (exitCode) => {
    code = exitCode;
  });
  const unknown = unknownCommand(program, commandNameIn(argv));
  if (unknown !== null) {
    if (argv.includes('--json')) io.stdout.write(`${JSON.stringify(unknown.body)}\n`);
    io.stderr.write(`${unknown.message}\n`);
    return EXIT.usage;
  }
  try {
    // Only a leading `--version` is the program's; after a command it is that command's option.
    await program.parseAsync(argv[0] === '--version' ? ['-V'] : argv, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.done;
    if (program.opts<GlobalOptions>().json === true) {
      io.stdout.write(`${JSON.stringify(wrongUsage(error.message).body)}\n`);
    }
    return EXIT.usage;
  }
}
