import { Command, CommanderError, Option } from 'commander';
import { GenesisError } from '../client/replies.js';
import type { ActionWrapper, AddCommands } from './command-action.js';
import { CommandContext, type GlobalOptions } from './context.js';
import { CommandFailure, EXIT, type ExitCode, wrongUsage } from './exit.js';
import { type Io, type RawIo, sanitizedIo } from './io.js';
import { wrapNotice } from './output/wrap.js';
import { commandGroupsFor } from './registry.js';
import { problemFailure } from './replies.js';
import { userErrorFailure } from './user-errors.js';
import { VERSION } from './version.js';

const EXAMPLES = `
Examples:
  gen up                                  run the coordinator here
  gen plan import plan.yaml               give it a plan
  gen next                                take the best ready work
  gen task submit A-001-schema --file out.json
  gen run --loop -- ./agent.sh            turn a program into a worker
  gen status --watch                      see what goes on
  gen verify                              prove that the log is sound

Exit codes: 0 done, 1 refused or not found, 2 wrong usage, 3 a human is needed.
Environment: GENESIS_URL, GENESIS_TOKEN, GENESIS_TENANT, GENESIS_PROJECT, GENESIS_AGENT, GENESIS_SESSION,
GENESIS_STORE, GENESIS_BLOBS, GENESIS_HOME.`;

/** Builds the program with these commands. `onExit` receives the exit code of the command that ran. */
export function buildProgram(
  io: Io,
  commandGroups: readonly AddCommands[],
  onExit: (code: ExitCode) => void,
): Command {
  const program = new Command('gen')
    .description('The coordinator for fleets of AI agents: one authoritative result for every piece of work.')
    .version(VERSION, '-V', 'the version of this program; so does gen --version')
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
  addGlobalOptions(program);
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
        onExit(exitCode);
      } finally {
        await context.close();
      }
    };
  for (const add of commandGroups) add(program, wrapAction);
  return program;
}

/** The failure to report. Any unknown error is reported with its message. */
function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof GenesisError) return problemFailure(error.problem);
  return userErrorFailure(error instanceof Error ? error : new Error(String(error)));
}

function addGlobalOptions(program: Command): void {
  program
    .addOption(
      new Option('--json', 'print the wire contract’s own JSON, and nothing else, on standard output'),
    )
    .addOption(new Option('--url <url>', 'the server (GENESIS_URL; http://127.0.0.1:4680)'))
    .addOption(new Option('--tenant <id>', 'the tenant (GENESIS_TENANT; default)'))
    .addOption(
      new Option('--project <id>', 'the project (GENESIS_PROJECT; that of the plan imported from here)'),
    )
    .addOption(new Option('--agent <id>', 'who calls (GENESIS_AGENT; user@host)'))
    .addOption(
      new Option('--session <id>', 'its session (GENESIS_SESSION; one for each agent and terminal)'),
    );
}

/**
 * Runs one command line to its end. Throws only on bugs. `help` with several words becomes `--help` of that
 * subcommand.
 */
export async function run(args: readonly string[], raw: RawIo): Promise<ExitCode> {
  const io = sanitizedIo(raw);
  const argv = args[0] === 'help' && args.length > 2 ? [...args.slice(1), '--help'] : args;
  let code: ExitCode = EXIT.done;
  const program = buildProgram(io, await commandGroupsFor(argv), (exitCode) => {
    code = exitCode;
  });
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
