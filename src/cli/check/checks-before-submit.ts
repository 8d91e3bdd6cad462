import type { Genesis } from '../../client/index.js';
import type { CheckReport, CheckReports } from '../../client/requests.js';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { withResultCounts } from '../../core/methodology/definition/convergence.js';
import { sandboxExecutor } from '../../engine/checks/command-executor.js';
import { checkExecutor, DEFAULT_CHECK_LIMITS, runnableCheck } from '../../engine/checks/execute-check.js';
import { runChecks } from '../../engine/checks/run-checks.js';
import { findSandbox } from '../../engine/checks/sandbox.js';
import { type CandidateFile, createWorkCopy, isCopyRefusal } from '../../engine/checks/work-copy.js';
import type { DraftGrant } from '../../workspace/drafts/draft-grant.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';
import { unwrapReply } from '../replies.js';
import { abortOnStop } from '../stop.js';
import { readCandidateFiles } from './candidate-files.js';
import { checksWithConfirmedCommand } from './confirmed-commands.js';
import { withGapsInProcess } from './gaps-in-process.js';

/**
 * Runs the deterministic checks on the drafts before they are submitted. Their results replace reported results of the
 * same checks. Checks that cannot be run here are named in a notice, and keep their reported results.
 */
export async function withExecutedChecks(
  context: CommandContext,
  genesis: Genesis,
  grant: DraftGrant,
  reported: CheckReports | undefined,
): Promise<CheckReports | undefined> {
  const { checks = [] } = unwrapReply(await genesis.task(grant.task_id));
  const runnable = checks.filter(
    (check) => check.type === 'deterministic' && !('says' in runnableCheck(check)),
  );
  if (runnable.length === 0) return reported;
  const workspace = Workspace.find(context.io.cwd);
  const files = workspace === null ? NO_DRAFTS : await draftsOf(workspace, grant);
  if (workspace === null || typeof files === 'string') {
    printNotRun(context, runnable, String(files));
    return reported;
  }
  const { root } = workspace;
  const confirmed = await checksWithConfirmedCommand(context, root, runnable);
  const unconfirmed = runnable.filter((check) => !confirmed.includes(check));
  if (unconfirmed.length > 0)
    printNotRun(
      context,
      unconfirmed,
      `their commands are not confirmed. Confirm them with: ${genCommand('check', grant.task_id)}`,
    );
  if (confirmed.length === 0) return reported;
  const executed = await runOnDrafts(context, root, files, confirmed);
  if (executed === null) return reported;
  return mergedReports(context, reported, executed);
}

const NO_DRAFTS = 'there are no drafts of this work here.';

/** The drafts, or why there are none. Never a failure: a result file can be submitted without valid drafts. */
async function draftsOf(workspace: Workspace, grant: DraftGrant): Promise<CandidateFile[] | string> {
  try {
    const files = await readCandidateFiles(workspace, grant);
    return files.length === 0 ? NO_DRAFTS : files;
  } catch (error) {
    if (error instanceof CommandFailure) return error.message;
    throw error;
  }
}

/** The results of the checks on a copy with the drafts. Null if the checks could not be run; then a notice is printed. */
async function runOnDrafts(
  context: CommandContext,
  root: string,
  files: readonly CandidateFile[],
  checks: readonly EffectiveCheck[],
): Promise<CheckReport[] | null> {
  const sandbox = await findSandbox(context.io.env.PATH);
  if (sandbox.kind === 'none') return printNotRun(context, checks, `there is no sandbox. ${sandbox.says}`);
  const copy = await createWorkCopy(root, files);
  if (isCopyRefusal(copy)) return printNotRun(context, checks, `${copy.says} ${copy.next}`);
  const stop = abortOnStop(context.io);
  try {
    const request = { checks, copy, limits: DEFAULT_CHECK_LIMITS, signal: stop.signal };
    const results = await runChecks(
      checkExecutor(withGapsInProcess(sandboxExecutor(sandbox), context)),
      request,
    );
    return results.map(({ outcome: { name, type, result, says } }) => ({ name, type, result, says }));
  } finally {
    stop.end();
    await copy.remove();
  }
}

function printNotRun(context: CommandContext, checks: readonly EffectiveCheck[], why: string): null {
  context.printNotice(`Not run: ${checks.map(({ name }) => name).join(', ')}; ${why}`);
  return null;
}

function mergedReports(
  context: CommandContext,
  reported: CheckReports | undefined,
  executed: readonly CheckReport[],
): CheckReports {
  for (const { name, result, says = '' } of executed)
    context.printNotice(`Check ${name}: ${result}. ${says}`.trim());
  const names = new Set(executed.map(({ name }) => name));
  const others = (reported?.details ?? []).filter(({ name }) => !names.has(name));
  return { ...reported, ...withResultCounts([...others, ...executed]) };
}
