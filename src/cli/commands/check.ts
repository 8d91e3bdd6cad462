import { didYouMean } from '../../core/closest-names.js';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import { isBlocking } from '../../core/engine/check-outcome.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { CheckExecution } from '../../engine/checks/check-execution.js';
import type { CommandExecutor } from '../../engine/checks/command-executor.js';
import { checkExecutor, DEFAULT_CHECK_LIMITS } from '../../engine/checks/execute-check.js';
import { runChecks } from '../../engine/checks/run-checks.js';
import { type CandidateFile, createWorkCopy, isCopyRefusal } from '../../engine/checks/work-copy.js';
import { readCandidateFiles } from '../check/candidate-files.js';
import { checkResultLines, lastLines } from '../check/check-table.js';
import { checkCommands } from '../check/confirmed-commands.js';
import { warnAboutChecklist } from '../check/left-out-checks.js';
import { openExecutor } from '../check/open-check-execution.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { EXIT, failureWithCode, wrongUsage } from '../exit.js';
import { canonicalSubject } from '../handle.js';
import { countText } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { abortOnStop } from '../stop.js';

export const checkCommand = defineCommand('check <edge> [name]', {
  description: 'run the deterministic checks of an edge on your drafts',
  options: {
    '--yes': 'confirm the commands of this repository that have not been confirmed yet',
    '--unsandboxed': 'run the commands without a sandbox, with your access to files',
  },
  help: `
Examples:
  gen check REQ-F-AUTH-001#code_unit_tests
  gen check REQ-F-AUTH-001#code_unit_tests tests_pass --json
  gen task submit REQ-F-AUTH-001#code_unit_tests --drafts --check tests_pass=pass

The checks run on a temporary copy of the project with your drafts laid over it. Without a claim on the edge, the copy
has no drafts. Commands come with the repository: each must be confirmed once, and again when it changes. They run in a
sandbox (bubblewrap) without network.

Exit codes: 0 every required check has passed, 1 a required check has not passed, 2 wrong usage, 3 a person must confirm a
command or there is no sandbox, 130 stopped by a signal.`,
  async run(context, edge, name, { yes: isConfirmed = false, unsandboxed: isUnsandboxed = false }) {
    const { root } = context.requireWorkspace();
    const taskId = canonicalSubject(edge);
    const checks = await deterministicChecks(context, taskId, name);
    const words = [taskId, ...(name === undefined ? [] : [name]), '--yes'];
    const howToConfirm = `${genCommand('check', ...words)}${context.repeatedOptions()}`;
    const options = { isConfirmed, isUnsandboxed, howToConfirm };
    const executor = await openExecutor(context, root, checkCommands(checks), options);
    const files = await candidateOf(context, taskId);
    const results = await runOnCopy(context, { root, files, checks, executor });
    if (results === null) return;
    showResults(context, taskId, files, executor, results);
    const { feature_id = '', edge: edgeName = '' } = subjectKeys(taskId);
    await warnAboutChecklist(context, { feature_id, edge: edgeName });
  },
});

async function deterministicChecks(
  context: CommandContext,
  taskId: string,
  name: string | undefined,
): Promise<EffectiveCheck[]> {
  if (subjectKindOf(taskId) !== 'edge') throw wrongUsage(`${taskId} is not an edge. Pass FEATURE#EDGE.`);
  const { checks = [] } = unwrapReply(await (await context.genesis()).task(taskId));
  const deterministic = checks.filter(({ type }) => type === 'deterministic');
  if (name === undefined) return deterministic;
  const named = deterministic.filter((check) => check.name === name);
  if (named.length > 0) return named;
  const names = deterministic.map((check) => check.name);
  const namesText = names.length === 0 ? 'It has none.' : `It has: ${names.join(', ')}.`;
  throw wrongUsage(`${taskId} has no deterministic check ${name}.${didYouMean(name, names)} ${namesText}`);
}

/** The drafts of this session's claim; none without a claim. */
async function candidateOf(context: CommandContext, taskId: string): Promise<CandidateFile[]> {
  const handle = await context.state.handle(await context.target(), await context.session(), taskId);
  return handle === null ? [] : readCandidateFiles(context.requireWorkspace(), handle);
}

interface CopyRun {
  readonly root: string;
  readonly files: readonly CandidateFile[];
  readonly checks: readonly EffectiveCheck[];
  readonly executor: CommandExecutor;
}

/** Runs the checks on a copy of the project. Null if a signal stopped them. */
async function runOnCopy(
  context: CommandContext,
  { root, files, checks, executor }: CopyRun,
): Promise<CheckExecution[] | null> {
  const copy = await createWorkCopy(root, files);
  if (isCopyRefusal(copy)) throw failureWithCode(copy.refused, `${copy.says} ${copy.next} Nothing was run.`);
  const stop = abortOnStop(context.io);
  try {
    const run = { checks, copy, limits: DEFAULT_CHECK_LIMITS, signal: stop.signal };
    return await runChecks(checkExecutor(executor), run);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    context.exit_code = EXIT.stopped;
    return null;
  } finally {
    stop.end();
    await copy.remove();
  }
}

function showResults(
  context: CommandContext,
  task_id: string,
  files: readonly CandidateFile[],
  { is_sandboxed }: CommandExecutor,
  results: readonly CheckExecution[],
): void {
  const drafts = files.map(({ path }) => path);
  const checks = results.map(({ outcome, output }) => ({ ...outcome, last_lines: lastLines(output) }));
  context.printReply({ task_id, drafts, is_sandboxed, checks }, () => {
    if (results.length === 0) return `${task_id} has no deterministic checks.`;
    const candidate = drafts.length === 0 ? 'the project as it is' : countText(drafts.length, 'drafted file');
    return [`${task_id}, on ${candidate}:`, ...checkResultLines(context, results)];
  });
  if (results.some(({ outcome }) => isBlocking(outcome))) context.exit_code = EXIT.refused;
}
