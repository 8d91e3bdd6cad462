import { Command, CommanderError, Option } from 'commander';
import { GenesisError } from '../client/replies.js';
import type { Act, AddCommands } from './act.js';
import { Context, type GlobalOptions } from './context.js';
import { CommandFailure, EXIT, type ExitCode, wrongUsage } from './exit.js';
import { familiesFor } from './families.js';
import { type Io, plainIo, type RawIo } from './io.js';
import { remarked } from './output/wrap.js';
import { problemFailure } from './replies.js';
import { spokenFailure } from './spoken.js';
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

/** The command line with these commands. `onExit` hears the code of the command that ran. */
export function buildProgram(
  io: Io,
  families: readonly AddCommands[],
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
  const act: Act = (action) =>
    async function (this: unknown, ...args) {
      const command = args.at(-1) as unknown as Command;
      const context = new Context(io, command.optsWithGlobals<GlobalOptions>());
      try {
        await action(context, ...args);
        onExit(context.exit_code);
      } catch (error) {
        const { message, exit_code, body } = failureOf(error);
        if (context.is_json) context.printJson(body);
        context.remark(remarked(message, io));
        onExit(exit_code);
      } finally {
        await context.close();
      }
    };
  for (const add of families) add(program, act);
  return program;
}

/** What a person can cause or mend has a sentence of its own; of anything else, what it says. */
function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof GenesisError) return problemFailure(error.problem);
  return spokenFailure(error instanceof Error ? error : new Error(String(error)));
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

/** Runs one command line to its end; help of a command's command is what `--help` says of it. Never throws for what a person can cause or mend. */
export async function run(words: readonly string[], raw: RawIo): Promise<ExitCode> {
  const io = plainIo(raw);
  const argv = words[0] === 'help' && words.length > 2 ? [...words.slice(1), '--help'] : words;
  let code: ExitCode = EXIT.done;
  const program = buildProgram(io, await familiesFor(argv), (exit_code) => {
    code = exit_code;
  });
  try {
    // `--version` alone is asked of the program; after a command it is the command's own.
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
