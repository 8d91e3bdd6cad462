import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { Genesis } from '../../client/index.js';
import type { SubmissionReply } from '../../client/replies.js';
import type { Act } from '../act.js';
import type { Context } from '../context.js';
import { endWork } from '../edge/end-work.js';
import { checkReport, type EvaluatorOptions, evaluatorsGiven } from '../edge/evaluators.js';
import { refuseUnknownChecks } from '../edge/known-checks.js';
import { unreadable, wrongUsage } from '../exit.js';
import { fenced, type HandleOptions, handleFor, withHandle } from '../handle.js';
import { submissionText, whyNotAccepted } from '../output/submission.js';
import { defined, wholeNumber } from '../read-options.js';
import { expected, refuse } from '../replies.js';
import { type ResultBody, resultBody } from '../result.js';

interface SubmitOptions extends HandleOptions, EvaluatorOptions {
  readonly file?: string;
  readonly data?: string;
  readonly drafts?: true;
  readonly iteration?: number;
  readonly contextHash?: string;
}

export function addSubmit(task: Command, act: Act): void {
  withHandle(task.command('submit <id>').description('hand in the result'))
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
      checkReport,
    )
    .option('--evaluators <file>', 'the same for many, as JSON: [{"name": …, "result": …}]')
    .option('--iteration <n>', 'which attempt at the edge this is', wholeNumber)
    .option('--context-hash <hash>', 'what the work was built on, as gen checkpoint tells it')
    .addHelpText('after', HELP)
    .action(act(submit));
}

const HELP = `
Without --file, --data and --drafts the result is read from standard input. An edge converges when every required
check has passed. Where a human is asked too, the exit code is 3: see gen review.

Examples:
  gen task submit A-001-schema --file result.json
  ./build.sh | gen task submit A-001-schema
  gen task submit REQ-F-AUTH-001#design_code --drafts --check lint_passes=pass --check type_check=pass
  gen task submit REQ-F-AUTH-001#design_code --drafts --evaluators checks.json --iteration 2`;

async function submit(context: Context, id: string, options: SubmitOptions): Promise<void> {
  const handle = await handleFor(context, id, options);
  const evaluators = await evaluatorsGiven(context, options);
  const genesis = await context.genesis();
  await refuseUnknownChecks(genesis, handle.task_id, options.check);
  const { result, paths } = options.drafts
    ? await (await import('../edge/drafts.js')).collected(context, genesis, handle)
    : { result: await resultGiven(context, genesis, options), paths: [] };
  const { iteration, contextHash: context_hash } = options;
  const told = defined({ iteration, context_hash, evaluators: evaluators ?? undefined });
  const { generation, task_id } = handle;
  const reply = expected(await genesis.submitResult({ ...fenced(handle), generation, ...result, ...told }));
  if (reply.accepted) {
    await context.memory.forgetHandle(await context.place(), handle);
    if (options.drafts) await endWork(context, { ...handle, subject: task_id });
  }
  answer(context, task_id, reply, paths);
}

function answer(context: Context, task_id: string, reply: SubmissionReply, paths: readonly string[]): void {
  if (reply.accepted) {
    context.show(reply, () => submissionText(task_id, reply, paths));
    return;
  }
  refuse(context, reply, reply.parked === null ? '' : `The work is kept as ${reply.parked}.`);
  for (const line of whyNotAccepted(task_id, reply, context.paint)) context.remark(line);
}

async function resultGiven(
  context: Context,
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
  // A program that failed, or no pipe at all, looks like this: no work is done by it.
  if (piped.byteLength === 0) {
    throw wrongUsage(
      'Standard input is empty. Give the result with --file PATH or --data JSON, or pipe it in.',
    );
  }
  return resultBody(genesis, piped);
}

async function fileBytes({ io }: Context, file: string): Promise<Uint8Array> {
  try {
    return await readFile(resolve(io.cwd, file));
  } catch (error) {
    throw unreadable(file, error, 'Nothing was submitted.');
  }
}
