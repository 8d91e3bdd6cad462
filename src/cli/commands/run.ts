import { join } from 'node:path';
import { type EndedWork, Genesis, type WorkSummary } from '../../client/index.js';
import { WORK_KINDS, type WorkKind } from '../../core/contract/values.js';
import { subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { command } from '../command.js';
import type { CommandContext } from '../context.js';
import { removeWorktree } from '../edge/edge-grant.js';
import { EXIT } from '../exit.js';
import type { StopSignal } from '../io.js';
import { collectOption, parseSecondsOption, parseWorkKind } from '../option-parsers.js';
import type { OptionsOf } from '../option-table.js';
import { countText } from '../output/text.js';
import { waitForReader } from '../output/wait-for-reader.js';
import { unwrapReply } from '../replies.js';
import { cliFolder } from '../state/cli-folder.js';
import { workspaceOf } from '../worker/drafts.js';
import { generationKey, runWork, type WorkerRun } from '../worker/run-work.js';
import { assertRunnable } from '../worker/runnable.js';
import type { WorkTarget } from '../worker/workdir.js';

const RUN_OPTIONS = {
  '--loop': 'repeat until all work is done',
  '--track <track>': { about: 'only tasks of this track (repeatable)', parse: collectOption },
  '--kind <kind>': { about: 'only tasks, or only edges of features', parse: parseWorkKind },
  '--role <role>': 'role to work in',
  '--lease <seconds>': {
    about: 'lease duration in seconds (or 90s, 5m, 2h; default: from the duration of earlier work)',
    parse: parseSecondsOption,
  },
  '--result <file>': 'file that the program writes its result to (default: $GENESIS_RESULT)',
} as const;

export const addRun = command('run <command...>', {
  synopsis: '[options] -- <command...>',
  description: 'claim the next task or edge, run a program on it, and submit its result',
  options: RUN_OPTIONS,
  help: `
The program gets these environment variables: GENESIS_TASK_ID, GENESIS_GENERATION, GENESIS_CLAIM_ID,
GENESIS_SESSION, GENESIS_AGENT, GENESIS_BRIEFING (a file with the briefing as JSON), GENESIS_RESULT (the file to write
the result to), GENESIS_URL, GENESIS_TENANT, GENESIS_PROJECT and, if the server requires one, GENESIS_TOKEN.
The claim is renewed while the program runs. If the claim is lost, the program and its child processes are
stopped, except those that have started a session of their own (setsid).
If the program exits with 0, its result file is submitted, or without one its exit code and the end of its output.
Otherwise the work is released with the error. In a git repository the result carries metadata.git: the branch, the
commits at the claim and at the submission, and the number of changed files and lines between them.

On an edge of a feature in a workspace the program runs in its draft folder (also GENESIS_DRAFTS), so pass files in its
arguments by absolute path. Without a result file, the files that it writes there are the result. It writes the results
of the checks in the briefing to the file GENESIS_CHECKS: [{"name": "lint_passes", "result": "pass"}]. If a required
check has not passed, the edge is released, and the next briefing says which. If a human must decide, see gen review:
with --loop, requested changes come back to the program, with the comment in the briefing.

Exit codes: 0 the result is accepted, or all work is done (by this agent or others), 1 otherwise, 3 if a human must
decide on the result.

Examples:
  gen run -- ./agent.sh
  gen run --loop --track B --lease 5m -- python3 agent.py
  gen run --loop --kind edge --role full_stack -- "$PWD/agent.sh"`,
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
  const { loop: isLoop = false, track: tracks, kind, role: agent_role } = options;
  const { lease: lease_duration_seconds } = options;
  if (isLoop) context.printNotice(`Working on ${target.project} until all work is done.`);
  const stopWith = (): NodeJS.Signals => receivedSignal ?? 'SIGTERM';
  const draftClaims = new Set<string>();
  const run = { context, target, genesis, command, stopWith, resultFile: options.result, draftClaims };
  const session_id = context.explicitSession ?? undefined;
  const { signal } = stopController;
  try {
    const summary = await genesis.work(
      {
        agent_id: await context.workerAgent(command[0] ?? ''),
        ...withoutUndefined({ session_id, tracks, agent_role, lease_duration_seconds }),
        kinds: kind === undefined ? WORK_KINDS : [kind],
        until: isLoop ? 'done' : 'idle',
        signal,
        onEnded: async (ended) => {
          context.printNotice(endedText(ended));
          await cleanUpDrafts(run, ended);
          // Nothing is claimed while nobody reads what became of the last work.
          await waitForReader(context.io.stderr, signal);
        },
      },
      (work, workContext) => {
        if (!isLoop) workContext.stop();
        return runWork(run, work, workContext);
      },
    );
    finish(context, summary, isLoop, doneText(target.project, tracks, kind));
  } finally {
    removeStopListener();
  }
}

/** Removes the worktree of an accepted result that was made from it, as gen task submit --drafts does. */
async function cleanUpDrafts({ context, draftClaims }: WorkerRun, ended: EndedWork): Promise<void> {
  const isFromDrafts = draftClaims.delete(generationKey(ended));
  const { task_id, generation, outcome, submission } = ended;
  if (!isFromDrafts || outcome !== 'accepted' || submission === null) return;
  const { agent_id } = submission;
  await removeWorktree(context, { agent_id, task_id, generation }, workspaceOf(context.io));
}

function doneText(project: string, tracks: readonly string[] = [], kind?: WorkKind): string {
  if (tracks.length > 0) {
    const name = tracks.length === 1 ? 'track' : 'tracks';
    return `All tasks of ${name} ${tracks.join(', ')} of ${project} are done.`;
  }
  return kind === undefined ? `All work of ${project} is done.` : `All ${kind}s of ${project} are done.`;
}

/** A client with the SDK's default retries, and an outbox for finished results in the CLI's folder. */
function workerGenesis({ io }: CommandContext, { token, ...target }: WorkTarget): Genesis {
  const outbox = join(cliFolder(io), 'outbox');
  return new Genesis({ ...target, outbox, ...(token === null ? {} : { token }) });
}

const isEmpty = ({ accepted, escalated, refused, failed, lost, released, pending }: WorkSummary): boolean =>
  accepted + escalated + refused + failed + lost + released + pending === 0;

/** One line on what became of a piece of work. */
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

function finish(context: CommandContext, summary: WorkSummary, isLoop: boolean, doneText: string): void {
  const { accepted, escalated, refused, failed, lost, released, pending, is_done } = summary;
  if (context.is_json) context.printJson(summary);
  if (isLoop)
    context.printNotice(
      `${accepted} accepted, ${escalated} for a human, ${refused} refused, ${failed} failed, ${lost} lost, ` +
        `${released} released`,
    );
  if (pending > 0)
    context.printNotice(`${countText(pending, 'result')} not submitted yet. Run gen run again to submit.`);
  if (is_done) context.printNotice(doneText);
  else if (!isLoop && isEmpty(summary))
    context.printNotice('NOTHING_READY: no work can be claimed now. For the reasons, see gen status.');
  const unsuccessful = refused + failed + lost + released + pending;
  if (is_done) return;
  if (unsuccessful > 0) context.exit_code = EXIT.refused;
  else if (!isLoop && escalated > 0) context.exit_code = EXIT.human;
  else if (!isLoop && accepted === 0) context.exit_code = EXIT.refused;
}
