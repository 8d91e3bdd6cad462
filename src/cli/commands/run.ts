import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { Genesis, type Work, type WorkSummary } from '../../client/index.js';
import { rememberClaim } from '../claim-output.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import type { StopSignal } from '../io.js';
import { parseSeconds } from '../option-parsers.js';
import { countText } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { jsonOrText } from '../result.js';
import { homeFolder } from '../state/home-folder.js';
import { type GroupExit, runProcessGroup } from '../worker/process-group.js';
import { assertRunnable } from '../worker/runnable.js';
import { TaskWorkdir, type WorkTarget } from '../worker/task-workdir.js';

interface RunOptions {
  readonly loop?: true;
  readonly track?: string;
  readonly role?: string;
  readonly lease?: number;
  readonly result?: string;
}

const MESSAGE_CHARS_MAX = 1500;

export const addRun: AddCommands = (program, wrapAction) => {
  program
    .command('run <command...>')
    .usage('[options] -- <command...>')
    .description('take the next work, run a program on it, and hand in what it made')
    .option('--loop', 'go on until all work is done')
    .option('--track <track>', 'only work of this track')
    .option('--role <role>', 'the role it works in')
    .option(
      '--lease <seconds>',
      'how long a silence means that it is dead (default: from what such work took before)',
      parseSeconds,
    )
    .option('--result <file>', 'the file it writes its result into (default: $GENESIS_RESULT)')
    .addHelpText(
      'after',
      `
The program finds in its environment: GENESIS_TASK_ID, GENESIS_GENERATION, GENESIS_CLAIM_ID, GENESIS_SESSION,
GENESIS_AGENT, GENESIS_BRIEFING (a file with the briefing as JSON) and GENESIS_RESULT (where to write the result); and
the server, as GENESIS_URL, GENESIS_TENANT, GENESIS_PROJECT and, where it demands one, GENESIS_TOKEN.
Its claim is renewed beside it. When the claim is lost, it is stopped with all it started. When it ends with 0, its
result file is submitted, or, where it wrote none, its exit code and the end of its output; else the work is given
back with the error.

Examples:
  gen run -- ./agent.sh
  gen run --loop --track B --lease 5m -- python3 agent.py`,
    )
    .action(wrapAction(runCommand));
};

async function runCommand(context: CommandContext, command: string[], options: RunOptions): Promise<void> {
  assertRunnable(context.io, command[0] ?? '');
  const target = { ...(await context.target()), ...(await context.server()) };
  // A worker retries while the server is unreachable. Check once first, so that a missing server is reported.
  unwrapReply(await (await context.genesis()).status());
  const genesis = workerGenesis(context, target);
  const stopController = new AbortController();
  let receivedSignal: StopSignal | null = null;
  const removeStopListener = context.io.onStop((signal) => {
    receivedSignal = signal;
    stopController.abort();
  });
  if (options.loop === true) context.printNotice(`Takes work of ${target.project} until all of it is done.`);
  try {
    const session = context.explicitSession;
    const summary = await genesis.work(
      {
        agent_id: await context.agent(),
        ...(session === null ? {} : { session_id: session }),
        ...(options.track === undefined ? {} : { tracks: [options.track] }),
        ...(options.role === undefined ? {} : { agent_role: options.role }),
        ...(options.lease === undefined ? {} : { lease_duration_seconds: options.lease }),
        until: options.loop === true ? 'done' : 'idle',
        signal: stopController.signal,
      },
      (work, { signal, stop }) => {
        if (options.loop !== true) stop();
        const stopWith = (): NodeJS.Signals => receivedSignal ?? 'SIGTERM';
        return runTask({ context, target, genesis, command, options, work, signal, stop, stopWith });
      },
    );
    printSummary(context, summary, options.loop === true);
  } finally {
    removeStopListener();
  }
}

/** A client with the SDK's default retries, and an outbox for finished results in the home folder. */
function workerGenesis({ io }: CommandContext, { token, ...target }: WorkTarget): Genesis {
  const outbox = join(homeFolder(io), 'outbox');
  return new Genesis({ ...target, outbox, ...(token === null ? {} : { token }) });
}

interface TaskRun {
  readonly context: CommandContext;
  readonly target: WorkTarget;
  readonly genesis: Genesis;
  readonly command: readonly string[];
  readonly options: RunOptions;
  readonly work: Work;
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly stopWith: () => NodeJS.Signals;
}

/** Returns the program's result, or throws the reason with which the task is released. */
async function runTask({ context, target, genesis, command, options, work, ...running }: TaskRun) {
  const { signal, stop, stopWith } = running;
  const { io } = context;
  await rememberClaim(context, work.claim);
  context.printNotice(`${work.task_id}, generation ${work.claim.generation}: ${command.join(' ')}`);
  const workdir = await TaskWorkdir.open(
    work,
    options.result === undefined ? null : resolve(io.cwd, options.result),
  );
  try {
    const env = workdir.environment(context, target, work);
    const stdout = context.is_json ? io.stderr : io.stdout;
    const ended = await runProcessGroup({
      command,
      env,
      cwd: io.cwd,
      stdout,
      stderr: io.stderr,
      signal,
      stopWith,
    }).catch((error: NodeJS.ErrnoException) => {
      // Every later task would fail the same way.
      stop();
      throw new Error(`${command[0]} cannot be run (${error.code ?? error.message})`);
    });
    if (ended.exit_code !== 0) throw new Error(failureText(ended));
    const resultBytes = await workdir.readResult();
    if (resultBytes !== null) return await resultData(genesis, resultBytes);
    if (options.result !== undefined) throw new Error(`it ended well and wrote no ${options.result}`);
    return ended;
  } catch (error) {
    context.printNotice(`${work.task_id}: ${(error as Error).message}`);
    throw error;
  } finally {
    await workdir.remove();
  }
}

function failureText({ exit_code, stderr, stdout }: GroupExit): string {
  const outputTail = (stderr.trim() || stdout.trim()).slice(-MESSAGE_CHARS_MAX);
  return `exit code ${exit_code}${outputTail === '' ? '' : `: ${outputTail}`}`;
}

/** JSON or text inline; other bytes as a blob that the result refers to. */
async function resultData(genesis: Genesis, bytes: Uint8Array): Promise<unknown> {
  if (isUtf8(bytes)) return jsonOrText(Buffer.from(bytes).toString('utf8'));
  const blob_sha256 = createHash('sha256').update(bytes).digest('hex');
  unwrapReply(await genesis.putBlob(blob_sha256, bytes));
  return { blob_sha256, size_bytes: bytes.byteLength };
}

function printSummary(context: CommandContext, summary: WorkSummary, isLoop: boolean): void {
  const { accepted, refused, failed, lost, released, pending, outcomes } = summary;
  if (context.is_json) context.printJson(summary);
  for (const { task_id, accepted, reason, work_product_ref, parked } of outcomes) {
    if (accepted) context.printNotice(`${task_id} is done: ${work_product_ref}`);
    else context.printNotice(`${task_id}: ${reason}${parked === null ? '' : `, kept as ${parked}`}`);
  }
  if (isLoop) {
    const counts = [
      `${accepted} accepted`,
      `${refused} refused`,
      `${failed} failed`,
      `${lost} lost`,
      `${released} given back`,
    ];
    context.printNotice(counts.join(', '));
  }
  if (pending > 0)
    context.printNotice(`${countText(pending, 'result')} not answered yet: the next gen run submits it.`);
  const unsuccessful = refused + failed + lost + released + pending;
  if (!isLoop && accepted + unsuccessful === 0)
    context.printNotice('NOTHING_READY: see gen status for what the plan waits for.');
  if (unsuccessful > 0 || (!isLoop && accepted === 0)) context.exit_code = EXIT.refused;
}
