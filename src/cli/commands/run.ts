import { isUtf8 } from 'node:buffer';
import { join, resolve } from 'node:path';
import {
  type EndedWork,
  Genesis,
  type Work,
  type WorkContext,
  type WorkSummary,
} from '../../client/index.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { rememberClaim } from '../claim-output.js';
import { command } from '../command.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import type { StopSignal } from '../io.js';
import { jsonOrText } from '../json-or-text.js';
import { collectOption, parseSecondsOption } from '../option-parsers.js';
import type { OptionsOf } from '../option-table.js';
import { countText, truncate } from '../output/text.js';
import { waitForReader } from '../output/wait-for-reader.js';
import { unwrapReply } from '../replies.js';
import { uploadBlob } from '../result.js';
import { cliFolder } from '../state/cli-folder.js';
import { readGitMetadata, readGitPosition } from '../worker/git-metadata.js';
import { type GroupExit, type GroupOptions, runProcessGroup } from '../worker/process-group.js';
import { PROGRAM_FILE_VARIABLE, removeProgramFile, writeProgramFile } from '../worker/program-file.js';
import { assertRunnable } from '../worker/runnable.js';
import { TaskWorkdir, type WorkTarget } from '../worker/task-workdir.js';

const MESSAGE_CHARS_MAX = 1500;
const COMMAND_CHARS_SHOWN = 200;

const RUN_OPTIONS = {
  '--loop': 'repeat until all tasks are done',
  '--track <track>': { about: 'only tasks of this track (repeatable)', parse: collectOption },
  '--role <role>': 'role to work in',
  '--lease <seconds>': {
    about: 'lease duration in seconds (or 90s, 5m, 2h; default: from the duration of earlier tasks)',
    parse: parseSecondsOption,
  },
  '--result <file>': 'file that the program writes its result to (default: $GENESIS_RESULT)',
} as const;

export const addRun = command('run <command...>', {
  synopsis: '[options] -- <command...>',
  description: 'claim the next task, run a program on it, and submit its result',
  options: RUN_OPTIONS,
  help: `
The program gets these environment variables: GENESIS_TASK_ID, GENESIS_GENERATION, GENESIS_CLAIM_ID,
GENESIS_SESSION, GENESIS_AGENT, GENESIS_BRIEFING (a file with the briefing as JSON), GENESIS_RESULT (the file to write
the result to), GENESIS_URL, GENESIS_TENANT, GENESIS_PROJECT and, if the server requires one, GENESIS_TOKEN.
The claim is renewed while the program runs. If the claim is lost, the program and its child processes are
stopped, except those that have started a session of their own (setsid).
If the program exits with 0, its result file is submitted, or without one its exit code and the end of its output.
Otherwise the task is released with the error. In a git repository the result carries metadata.git: the branch, the
commits at the claim and at the submission, and the number of changed files and lines between them.
With --loop the exit code is 0 when all tasks are done, by this agent or others.

Examples:
  gen run -- ./agent.sh
  gen run --loop --track B --lease 5m -- python3 agent.py`,
  run: runCommand,
});

async function runCommand(
  context: CommandContext,
  command: string[],
  options: OptionsOf<typeof RUN_OPTIONS>,
): Promise<void> {
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
  const { loop: isLoop = false, track: tracks, role: agent_role, lease: lease_duration_seconds } = options;
  if (isLoop) context.printNotice(`Running tasks of ${target.project} until all are done.`);
  const stopWith = (): NodeJS.Signals => receivedSignal ?? 'SIGTERM';
  const run = { context, target, genesis, command, options, stopWith };
  const session_id = context.explicitSession ?? undefined;
  const { signal } = stopController;
  try {
    const summary = await genesis.work(
      {
        agent_id: await context.workerAgent(command[0] ?? ''),
        ...withoutUndefined({ session_id, tracks, agent_role, lease_duration_seconds }),
        until: isLoop ? 'done' : 'idle',
        signal,
        onEnded: async (ended) => {
          context.printNotice(endedText(ended));
          // Nothing is claimed while nobody reads what became of the last task.
          await waitForReader(context.io.stderr, signal);
        },
      },
      (work, workContext) => {
        if (!isLoop) workContext.stop();
        return runTask(run, work, workContext);
      },
    );
    const isDone = summary.is_done || (!isLoop && isEmpty(summary) && (await isAllDone(genesis, tracks)));
    finish(context, { ...summary, is_done: isDone }, isLoop, doneText(target.project, tracks));
  } finally {
    removeStopListener();
  }
}

async function isAllDone(genesis: Genesis, tracks: readonly string[] = []): Promise<boolean> {
  for (const track of tracks.length === 0 ? [undefined] : tracks) {
    const open = await genesis.tasks({ phase: 'OPEN', limit: 1, ...withoutUndefined({ track }) });
    if (unwrapReply(open).tasks.length > 0) return false;
  }
  return true;
}

const doneText = (project: string, tracks: readonly string[] = []): string =>
  tracks.length === 0
    ? `All tasks of ${project} are done.`
    : `All tasks of ${tracks.length === 1 ? 'track' : 'tracks'} ${tracks.join(', ')} of ${project} are done.`;

/** A client with the SDK's default retries, and an outbox for finished results in the CLI's folder. */
function workerGenesis({ io }: CommandContext, { token, ...target }: WorkTarget): Genesis {
  const outbox = join(cliFolder(io), 'outbox');
  return new Genesis({ ...target, outbox, ...(token === null ? {} : { token }) });
}

interface WorkerRun extends Pick<GroupOptions, 'command' | 'stopWith'> {
  readonly context: CommandContext;
  readonly target: WorkTarget;
  readonly genesis: Genesis;
  readonly options: OptionsOf<typeof RUN_OPTIONS>;
}

/** Returns the program's result, or throws the reason with which the task is released. */
async function runTask(run: WorkerRun, work: Work, { signal, stop, setMetadata }: WorkContext) {
  const { context, target, genesis, command, options, stopWith } = run;
  const { io } = context;
  await rememberClaim(context, work.claim);
  const shownCommand = truncate(command.join(' '), COMMAND_CHARS_SHOWN);
  context.printNotice(`${work.task_id}, generation ${work.claim.generation}: ${shownCommand}`);
  const resultFile = options.result === undefined ? null : resolve(io.cwd, options.result);
  const workdir = await TaskWorkdir.open(work, resultFile);
  const programFile = io.env[PROGRAM_FILE_VARIABLE];
  try {
    const gitAtClaim = await readGitPosition(io.cwd);
    const env = workdir.environment(context, target, work);
    const { cwd, stderr } = io;
    const stdout = context.is_json ? stderr : io.stdout;
    const onStart = (group: number): void => {
      if (programFile !== undefined) writeProgramFile(programFile, group);
    };
    const group = { command, env, cwd, stdout, stderr, signal, stopWith, onStart };
    const ended = await runProcessGroup(group).catch((error: NodeJS.ErrnoException) => {
      // Every later task would fail the same way.
      stop();
      throw new Error(`${command[0]} cannot be run (${error.code ?? error.message})`);
    });
    if (ended.exit_code !== 0) throw new Error(failureText(ended));
    const git = await readGitMetadata(io.cwd, gitAtClaim);
    if (git !== null) setMetadata({ git });
    const resultBytes = await workdir.readResult();
    if (resultBytes !== null) return await resultData(genesis, resultBytes);
    if (options.result !== undefined)
      throw new Error(`exit code 0, but the program did not write ${options.result}`);
    return ended;
  } finally {
    if (programFile !== undefined) await removeProgramFile(programFile);
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
  return { ...(await uploadBlob(genesis, bytes)), size_bytes: bytes.byteLength };
}

const isEmpty = ({ accepted, refused, failed, lost, released, pending }: WorkSummary): boolean =>
  accepted + refused + failed + lost + released + pending === 0;

/** One line on what became of a piece of work. */
function endedText({ task_id, outcome, message, submission }: EndedWork): string {
  const keptAs = submission?.parked ?? submission?.kept ?? null;
  switch (outcome) {
    case 'accepted':
      return `${task_id} is done: ${message}`;
    case 'refused':
      return `${task_id}: the result was refused (${message})${keptAs === null ? '' : `, kept as ${keptAs}`}`;
    case 'lost':
      return `${task_id}: the claim was lost (${message}). The program was stopped, and has no result.`;
    case 'released':
      return `${task_id} was released: this command was stopped.`;
    case 'pending':
      return `${task_id}: the result is not submitted yet (${message})`;
    case 'failed':
      return `${task_id} failed: ${message}`;
  }
}

function finish(context: CommandContext, summary: WorkSummary, isLoop: boolean, doneText: string): void {
  const { accepted, refused, failed, lost, released, pending, is_done } = summary;
  if (context.is_json) context.printJson(summary);
  if (isLoop)
    context.printNotice(
      `${accepted} accepted, ${refused} refused, ${failed} failed, ${lost} lost, ${released} released`,
    );
  if (pending > 0)
    context.printNotice(`${countText(pending, 'result')} not submitted yet. Run gen run again to submit.`);
  if (is_done) context.printNotice(doneText);
  else if (!isLoop && isEmpty(summary))
    context.printNotice('NOTHING_READY: no task can be claimed now. For the reasons, see gen status.');
  const unsuccessful = refused + failed + lost + released + pending;
  if (is_done) return;
  if (unsuccessful > 0 || (!isLoop && accepted === 0)) context.exit_code = EXIT.refused;
}
