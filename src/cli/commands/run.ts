import type { EndedWork, WorkOptions, WorkSummary } from '../../client/index.js';
import { WORK_KINDS, type WorkKind } from '../../core/contract/values.js';
import { subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { removeWorktree } from '../edge/edge-grant.js';
import { EXIT, type ExitCode } from '../exit.js';
import type { Io, StopSignal } from '../io.js';
import { WORKER_OPTIONS } from '../option-parsers.js';
import type { OptionsOf } from '../option-table.js';
import { countText } from '../output/text.js';
import { waitForReader } from '../output/wait-for-reader.js';
import { unwrapReply } from '../replies.js';
import { requiredSigningKey } from '../signing.js';
import { findWorkspace } from '../worker/drafts.js';
import { IDLE_PREFIX } from '../worker/idle-text.js';
import { generationKey, runWork, type WorkerRun } from '../worker/run-work.js';
import { assertRunnable } from '../worker/runnable.js';
import { workerGenesis, workTargetOf } from '../worker/work-target.js';

const RUN_OPTIONS = {
  '--loop': 'repeat until all work is done',
  ...WORKER_OPTIONS,
  '--result <file>': 'file that the program writes its result to (default: $GENESIS_RESULT)',
} as const;

export const runCommand = defineCommand('run <command...>', {
  synopsis: '[options] -- <command...>',
  description: 'claim the next task or edge, run a program on it, and submit its result',
  options: RUN_OPTIONS,
  help: `
The program gets these environment variables: GENESIS_TASK_ID, GENESIS_GENERATION, GENESIS_CLAIM_ID,
GENESIS_SESSION, GENESIS_AGENT, GENESIS_BRIEFING (a file with the briefing as JSON), GENESIS_RESULT (the file to write
the result to) and, for calls of gen by the program, GENESIS_URL, GENESIS_TENANT, GENESIS_PROJECT, GENESIS_HOME,
GENESIS_SIGNING_KEY and, if a token is set, GENESIS_TOKEN.
The claim is renewed while the program runs. If the claim is lost, the program and its child processes are
stopped, except those that have started their own session (setsid).
If the program exits with 0, its result file is submitted, or, without a file, its exit code and the end of its output.
Otherwise the work is released with the error. In a git repository the result carries metadata.git: the branch, the
commits at the claim and at the submission, and the number of changed files and lines between them.

On an edge of a feature in a workspace the program runs in the draft folder (also GENESIS_DRAFTS), so pass files in its
arguments by absolute path. Without a result file, the files that the program writes there are the result. The briefing
lists the checks, and the program writes their results to the file GENESIS_CHECKS:
[{"name": "lint_passes", "result": "pass"}]. If a required check has not passed, the edge is released, and the next
briefing names the check. If a person must decide, see gen review: requested changes come back to the program with the
comment in the briefing, with --loop in the same run, otherwise in a later gen run with the same --role. If a shell
cannot run its command (exit code 127 or 126), no more work is claimed.

Exit codes: 0 the result is accepted, or all work is done (by this agent or others), 1 otherwise, 3 if a person must
decide on the result, 130 if a signal such as Ctrl-C stopped gen run before any of these.

Examples:
  gen run -- ./agent.sh
  gen run --loop --track B --lease 5m -- python3 agent.py
  gen run --loop --kind edge --role full_stack -- "$PWD/agent.sh"`,
  run: runAgentCommand,
});

type RunOptions = OptionsOf<typeof RUN_OPTIONS>;

async function runAgentCommand(
  context: CommandContext,
  command: string[],
  options: RunOptions,
): Promise<void> {
  assertRunnable(context.io, command[0] ?? '');
  const target = await workTargetOf(context);
  // A worker retries while the server is unreachable. Check once first, so that a missing server is reported.
  const startupGenesis = await context.genesis();
  unwrapReply(await startupGenesis.status());
  const signingKey = await requiredSigningKey(context.io, startupGenesis);
  const genesis = workerGenesis(context.io, target, signingKey);
  const stopListener = listenForStop(context.io);
  const { loop: isLoop = false, track: tracks, kind, result: resultFile } = options;
  if (isLoop) context.printNotice(`Working on ${target.project} until all work is done.`);
  const draftClaims = new Set<string>();
  const notes: RunNotes = { advice: null, whyNotRunnable: null };
  const onNotRunnable = (why: string): void => {
    notes.whyNotRunnable = why;
  };
  const { stopWith } = stopListener;
  const run = { context, target, genesis, command, stopWith, resultFile, draftClaims, onNotRunnable };
  const onIdle = (advice: string): void => {
    notes.advice = advice;
    if (isLoop) context.printNotice(`${IDLE_PREFIX}${advice}`);
  };
  try {
    const summary = await genesis.work(
      { ...(await workOptions(run, options, stopListener.signal)), onIdle },
      (work, workContext) => {
        if (!isLoop) workContext.stop();
        return runWork(run, work, workContext);
      },
    );
    printSummary(context, summary, isLoop, doneText(target.project, tracks, kind), notes);
    context.exit_code = exitCodeOf(summary, isLoop, stopListener.signal.aborted);
  } finally {
    stopListener.end();
  }
}

/** Notes taken during the run, printed in its last lines. */
interface RunNotes {
  /** Why no work can be claimed, in the words of the server. */
  advice: string | null;
  whyNotRunnable: string | null;
}

/** Listens for stop signals. `stopWith` returns the received signal, which is passed on to the program. */
function listenForStop(io: Io) {
  const controller = new AbortController();
  let received: StopSignal | null = null;
  const end = io.onStop((signal) => {
    received = signal;
    controller.abort();
  });
  return { signal: controller.signal, stopWith: (): NodeJS.Signals => received ?? 'SIGTERM', end };
}

async function workOptions(run: WorkerRun, options: RunOptions, signal: AbortSignal): Promise<WorkOptions> {
  const { context, command } = run;
  const { loop: isLoop = false, track: tracks, kind, role: agent_role } = options;
  const { lease: lease_duration_seconds } = options;
  const session_id = context.explicitSession ?? undefined;
  return {
    agent_id: await context.workerAgent(command[0] ?? ''),
    ...withoutUndefined({ session_id, tracks, agent_role, lease_duration_seconds }),
    kinds: kind === undefined ? WORK_KINDS : [kind],
    until: isLoop ? 'done' : 'idle',
    signal,
    onEnded: async (ended) => {
      context.printNotice(endedText(ended));
      await cleanUpDrafts(run, ended);
      // Wait before the next claim until the notices about this work have been read: they must not collect in memory.
      await waitForReader(context.io.stderr, signal);
    },
  };
}

/** Removes the worktree of drafts whose result was accepted, as gen task submit --drafts does. */
async function cleanUpDrafts({ context, draftClaims }: WorkerRun, ended: EndedWork): Promise<void> {
  const isFromDrafts = draftClaims.delete(generationKey(ended));
  const { task_id, generation, outcome, submission } = ended;
  if (!isFromDrafts || outcome !== 'accepted' || submission === null) return;
  const { agent_id } = submission;
  await removeWorktree(context, { agent_id, task_id, generation }, findWorkspace(context.io));
}

function doneText(projectId: string, tracks: readonly string[] = [], kind?: WorkKind): string {
  if (tracks.length > 0) {
    const name = tracks.length === 1 ? 'track' : 'tracks';
    return `All tasks of ${name} ${tracks.join(', ')} of ${projectId} are done.`;
  }
  return kind === undefined ? `All work of ${projectId} is done.` : `All ${kind}s of ${projectId} are done.`;
}

const isEmpty = ({ accepted, escalated, refused, failed, lost, released, pending }: WorkSummary): boolean =>
  accepted + escalated + refused + failed + lost + released + pending === 0;

/** One line about the outcome of a piece of work. */
function endedText({ task_id, outcome, message, submission }: EndedWork): string {
  const keptAs = submission?.parked ?? submission?.kept ?? null;
  switch (outcome) {
    case 'accepted':
      return `${task_id} ${subjectKindOf(task_id) === 'edge' ? 'has converged' : 'is done'}: ${message}`;
    case 'escalated':
      return `${task_id} ${message}`;
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

function printSummary(
  context: CommandContext,
  summary: WorkSummary,
  isLoop: boolean,
  textWhenDone: string,
  { advice, whyNotRunnable }: RunNotes,
): void {
  const { accepted, escalated, refused, failed, lost, released, pending, is_done } = summary;
  if (context.is_json) context.printJson(summary);
  if (isLoop)
    context.printNotice(
      `${accepted} accepted, ${escalated} for a person, ${refused} refused, ${failed} failed, ${lost} lost, ` +
        `${released} released`,
    );
  if (pending > 0)
    context.printNotice(`${countText(pending, 'result')} not submitted yet. Run gen run again to submit.`);
  if (is_done) context.printNotice(textWhenDone);
  else if (!isLoop && isEmpty(summary))
    context.printNotice(`NOTHING_READY. ${advice ?? 'For the reasons, see gen status.'}`);
  if (whyNotRunnable !== null) context.printNotice(`No more work is claimed: ${whyNotRunnable}`);
}

function exitCodeOf(summary: WorkSummary, isLoop: boolean, isStopped: boolean): ExitCode {
  const { accepted, escalated, refused, failed, lost, released, pending, is_done } = summary;
  const unsuccessful = refused + failed + lost + released + pending;
  if (is_done) return EXIT.done;
  // Without --loop there is one result: a signal does not matter if the result was decided all the same.
  const isDecided = !isLoop && unsuccessful === 0 && accepted + escalated > 0;
  if (isStopped && !isDecided) return EXIT.stopped;
  if (unsuccessful > 0) return EXIT.refused;
  if (isLoop) return EXIT.done;
  if (escalated > 0) return EXIT.human;
  return accepted > 0 ? EXIT.done : EXIT.refused;
}
