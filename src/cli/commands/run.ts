import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { Genesis, type Work, type WorkSummary } from '../../client/index.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit.js';
import type { StopSignal } from '../io.js';
import { homeFolder } from '../memory/home-folder.js';
import { count } from '../output/text.js';
import { seconds } from '../read-options.js';
import { expected } from '../replies.js';
import { jsonOrText } from '../result.js';
import { rememberClaim } from '../taking.js';
import { WorkDesk, type WorkPlace } from '../worker/desk.js';
import { type GroupEnd, runGroup } from '../worker/process-group.js';
import { assertRunnable } from '../worker/runnable.js';

interface RunOptions {
  readonly loop?: true;
  readonly track?: string;
  readonly role?: string;
  readonly lease?: number;
  readonly result?: string;
}

const MESSAGE_CHARS_MAX = 1500;

export const addRun: AddCommands = (program, act) => {
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
      seconds,
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
    .action(act(runCommand));
};

async function runCommand(context: Context, command: string[], options: RunOptions): Promise<void> {
  assertRunnable(context.io, command[0] ?? '');
  const place = { ...(await context.place()), ...(await context.server()) };
  // A worker waits for a server that is away; a person who forgot to start one should hear of it.
  expected(await (await context.genesis()).status());
  const genesis = workerGenesis(context, place);
  const stopping = new AbortController();
  let asked: StopSignal | null = null;
  const end = context.io.onStop((signal) => {
    asked = signal;
    stopping.abort();
  });
  if (options.loop === true) context.remark(`Takes work of ${place.project} until all of it is done.`);
  try {
    const session = context.named_session;
    const summary = await genesis.work(
      {
        agent_id: await context.agent(),
        ...(session === null ? {} : { session_id: session }),
        ...(options.track === undefined ? {} : { tracks: [options.track] }),
        ...(options.role === undefined ? {} : { agent_role: options.role }),
        ...(options.lease === undefined ? {} : { lease_duration_seconds: options.lease }),
        until: options.loop === true ? 'done' : 'idle',
        signal: stopping.signal,
      },
      (work, { signal, stop }) => {
        if (options.loop !== true) stop();
        const stopWith = (): NodeJS.Signals => asked ?? 'SIGTERM';
        return perform({ context, place, genesis, command, options, work, signal, stop, stopWith });
      },
    );
    tell(context, summary, options.loop === true);
  } finally {
    end();
  }
}

/** A worker is more patient than a person, and keeps what it finished beside the log. */
function workerGenesis({ io }: Context, { token, ...place }: WorkPlace): Genesis {
  const outbox = join(homeFolder(io), 'outbox');
  return new Genesis({ ...place, outbox, ...(token === null ? {} : { token }) });
}

interface Performance {
  readonly context: Context;
  readonly place: WorkPlace;
  readonly genesis: Genesis;
  readonly command: readonly string[];
  readonly options: RunOptions;
  readonly work: Work;
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly stopWith: () => NodeJS.Signals;
}

/** Returns the result of the program. Throws why there is none: the work is given back with it. */
async function perform({ context, place, genesis, command, options, work, ...running }: Performance) {
  const { signal, stop, stopWith } = running;
  const { io } = context;
  await rememberClaim(context, work.claim);
  context.remark(`${work.task_id}, generation ${work.claim.generation}: ${command.join(' ')}`);
  const desk = await WorkDesk.open(
    work,
    options.result === undefined ? null : resolve(io.cwd, options.result),
  );
  try {
    const env = desk.environment(context, place, work);
    const stdout = context.is_json ? io.stderr : io.stdout;
    const ended = await runGroup({
      command,
      env,
      cwd: io.cwd,
      stdout,
      stderr: io.stderr,
      signal,
      stopWith,
    }).catch((error: NodeJS.ErrnoException) => {
      // The next work would fail of the same.
      stop();
      throw new Error(`${command[0]} cannot be run (${error.code ?? error.message})`);
    });
    if (ended.exit_code !== 0) throw new Error(failureText(ended));
    const written = await desk.result();
    if (written !== null) return await resultData(genesis, written);
    if (options.result !== undefined) throw new Error(`it ended well and wrote no ${options.result}`);
    return ended;
  } catch (error) {
    context.remark(`${work.task_id}: ${(error as Error).message}`);
    throw error;
  } finally {
    await desk.clear();
  }
}

function failureText({ exit_code, stderr, stdout }: GroupEnd): string {
  const said = (stderr.trim() || stdout.trim()).slice(-MESSAGE_CHARS_MAX);
  return `exit code ${exit_code}${said === '' ? '' : `: ${said}`}`;
}

/** JSON as it is, text as text; anything else is put away, and the result says where. */
async function resultData(genesis: Genesis, bytes: Uint8Array): Promise<unknown> {
  if (isUtf8(bytes)) return jsonOrText(Buffer.from(bytes).toString('utf8'));
  const blob_sha256 = createHash('sha256').update(bytes).digest('hex');
  expected(await genesis.putBlob(blob_sha256, bytes));
  return { blob_sha256, size_bytes: bytes.byteLength };
}

function tell(context: Context, summary: WorkSummary, is_loop: boolean): void {
  const { accepted, refused, failed, lost, released, pending, outcomes } = summary;
  if (context.is_json) context.printJson(summary);
  for (const { task_id, accepted, reason, work_product_ref, parked } of outcomes) {
    if (accepted) context.remark(`${task_id} is done: ${work_product_ref}`);
    else context.remark(`${task_id}: ${reason}${parked === null ? '' : `, kept as ${parked}`}`);
  }
  if (is_loop) {
    const counts = [
      `${accepted} accepted`,
      `${refused} refused`,
      `${failed} failed`,
      `${lost} lost`,
      `${released} given back`,
    ];
    context.remark(counts.join(', '));
  }
  if (pending > 0)
    context.remark(`${count(pending, 'result')} not answered yet: the next gen run submits it.`);
  const went_wrong = refused + failed + lost + released + pending;
  if (!is_loop && accepted + went_wrong === 0)
    context.remark('NOTHING_READY: see gen status for what the plan waits for.');
  if (went_wrong > 0 || (!is_loop && accepted === 0)) context.exit_code = EXIT.refused;
}
