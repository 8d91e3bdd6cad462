import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { Genesis } from '../../client/index.js';
import type { SubmissionReply } from '../../client/replies.js';
import type { ActionWrapper } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { type EvaluatorOptions, parseCheckReport, readEvaluators } from '../edge/evaluators.js';
import { assertKnownChecks } from '../edge/known-checks.js';
import { removeWorktree } from '../edge/remove-worktree.js';
import { fileUnreadable, wrongUsage } from '../exit.js';
import { addHandleOptions, fencingFields, type HandleOptions, resolveHandle } from '../handle.js';
import { parseWholeNumber, withoutUndefined } from '../option-parsers.js';
import { refusalLines, submissionText } from '../output/submission.js';
import { reportRefusal, unwrapReply } from '../replies.js';
import { type ResultBody, resultBody } from '../result.js';

interface SubmitOptions extends HandleOptions, EvaluatorOptions {
  readonly file?: string;
  readonly data?: string;
  readonly drafts?: true;
  readonly iteration?: number;
  readonly contextHash?: string;
}

export function addSubmit(task: Command, wrapAction: ActionWrapper): void {
  addHandleOptions(task.command('submit <id>').description('hand in the result'))
    .option('--file <path>', 'the result: JSON, text, or anything else as a blob')
    .option('--data <json>', 'the result, right here')
    .addOption(
      new Option('--drafts', 'the result: your drafts in this workspace (edges only)').conflicts([
        'file',
        'data',
      ]),
    )
    .option(
      '--check <name=result>',
      'how a check came out: pass, fail, skip, error, pending (repeat)',
      parseCheckReport,
    )
    .option('--evaluators <file>', 'the same for many, as JSON: [{"name": …, "result": …}]')
    .option('--iteration <n>', 'which attempt at the edge this is', parseWholeNumber)
    .option('--context-hash <hash>', 'what the work was built on, as gen checkpoint tells it')
    .addHelpText('after', HELP)
    .action(wrapAction(submit));
}

const HELP = `
Without --file, --data and --drafts the result is read from standard input. An edge converges when every required
check has passed. Where a human is asked too, the exit code is 3: see gen review.

Examples:
  gen task submit A-001-schema --file result.json
  ./build.sh | gen task submit A-001-schema
  gen task submit REQ-F-AUTH-001#design_code --drafts --check lint_passes=pass --check type_check=pass
  gen task submit REQ-F-AUTH-001#design_code --drafts --evaluators checks.json --iteration 2`;

async function submit(context: CommandContext, id: string, options: SubmitOptions): Promise<void> {
  const handle = await resolveHandle(context, id, options);
  const evaluators = await readEvaluators(context, options);
  const genesis = await context.genesis();
  await assertKnownChecks(genesis, handle.task_id, options.check);
  const { result, paths } = options.drafts
    ? await (await import('../edge/drafts.js')).collectDraftResult(context, genesis, handle)
    : { result: await readResult(context, genesis, options), paths: [] };
  const { iteration, contextHash: context_hash } = options;
  const optionalFields = withoutUndefined({ iteration, context_hash, evaluators: evaluators ?? undefined });
  const { generation, task_id } = handle;
  const reply = unwrapReply(
    await genesis.submitResult({ ...fencingFields(handle), generation, ...result, ...optionalFields }),
  );
  if (reply.accepted) {
    await context.state.removeHandle(await context.target(), handle);
    if (options.drafts) await removeWorktree(context, { ...handle, subject: task_id });
  }
  showReply(context, task_id, reply, paths);
}

function showReply(
  context: CommandContext,
  taskId: string,
  reply: SubmissionReply,
  paths: readonly string[],
): void {
  if (reply.accepted) {
    context.show(reply, () => submissionText(taskId, reply, paths));
    return;
  }
  reportRefusal(context, reply, reply.parked === null ? '' : `The work is kept as ${reply.parked}.`);
  for (const line of refusalLines(taskId, reply, context.paint)) context.printNotice(line);
}

async function readResult(
  context: CommandContext,
  genesis: Genesis,
  { file, data }: { file?: string; data?: string },
): Promise<ResultBody> {
  if (file !== undefined && data !== undefined) throw wrongUsage('Give --file or --data, not both.');
  if (data !== undefined) {
    try {
      return { result_data: JSON.parse(data) as unknown };
    } catch {
      throw wrongUsage('--data is not JSON. Put it in quotes, or hand in a file with --file.');
    }
  }
  if (file !== undefined) return resultBody(genesis, await fileBytes(context, file));
  const { stdin } = context.io;
  if ('isTTY' in stdin && stdin.isTTY === true) {
    throw wrongUsage('What is the result? Give --file PATH or --data JSON, or pipe it in.');
  }
  const piped = await buffer(stdin);
  // A failed upstream program or a missing pipe gives empty input; do not submit that as a result.
  if (piped.byteLength === 0) {
    throw wrongUsage(
      'Standard input is empty. Give the result with --file PATH or --data JSON, or pipe it in.',
    );
  }
  return resultBody(genesis, piped);
}

async function fileBytes({ io }: CommandContext, file: string): Promise<Uint8Array> {
  try {
    return await readFile(resolve(io.cwd, file));
  } catch (error) {
    throw fileUnreadable(file, error, 'Nothing was submitted.');
  }
}
