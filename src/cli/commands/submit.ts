import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Genesis } from '../../client/index.js';
import { subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { removeWorktree } from '../edge/edge-grant.js';
import { assertKnownChecks, parseCheckReport, readEvaluators } from '../edge/evaluators.js';
import { fileUnreadable, wrongUsage } from '../exit.js';
import { fencingFields, HANDLE_OPTIONS, resolveHandle } from '../handle.js';
import { parseWholeNumber } from '../option-parsers.js';
import { refusalLines, submissionText } from '../output/submission.js';
import { reportRefusal, unwrapReply } from '../replies.js';
import { type ResultBody, resultBody } from '../result.js';

export const submitCommand = defineCommand('submit <id>', {
  description: 'submit the result',
  options: {
    ...HANDLE_OPTIONS,
    '--file <path>': 'result file: JSON, text, or other bytes as a blob',
    '--data <json>': 'result as JSON',
    '--drafts': {
      about: 'submit your drafts in this workspace (edges only)',
      conflicts: ['file', 'data'],
    },
    '--check <name=result>': {
      about: 'result of a check: pass, fail, skip, error or pending; repeatable',
      parse: parseCheckReport,
    },
    '--evaluators <file>': 'JSON file with results of checks: [{"name": …, "result": …}]',
    '--iteration <n>': { about: 'iteration of the edge', parse: parseWholeNumber },
    '--context-hash <hash>': 'hash of the context of this work, as gen checkpoint prints it',
  },
  help: `
Without --file, --data and --drafts the result is read from standard input. An edge converges when every required
check has passed. If a person must decide, the exit code is 3: see gen review.

On an edge the deterministic checks are run first on the drafts, as gen check runs them, and their results replace those
of --check. Checks that cannot be run here (no drafts, not confirmed, no sandbox) are named, and keep the reported result.

Examples:
  gen task submit A-001-schema --file result.json
  ./build.sh | gen task submit A-001-schema
  gen task submit REQ-F-AUTH-001#design_code --drafts --check lint_passes=pass --check type_check=pass
  gen task submit REQ-F-AUTH-001#design_code --drafts --evaluators checks.json --iteration 2`,
  async run(context, id, { check = [], drafts, iteration, contextHash: context_hash, ...options }) {
    const handle = await resolveHandle(context, id, options);
    const reported = await readEvaluators(context, check, options.evaluators);
    const genesis = await context.genesis();
    await assertKnownChecks(genesis, handle.task_id, check);
    const { result, paths } = drafts
      ? await (await import('../edge/drafts.js')).collectDraftResult(context, genesis, handle)
      : { result: await readResult(context, genesis, options), paths: [] };
    const { generation, task_id } = handle;
    const evaluators =
      subjectKindOf(task_id) === 'edge'
        ? await (await import('../check/checks-before-submit.js')).withExecutedChecks(
            context,
            genesis,
            handle,
            reported,
          )
        : reported;
    const optionalFields = withoutUndefined({ iteration, context_hash, evaluators });
    const submission = { ...fencingFields(handle), generation, ...result, ...optionalFields };
    const reply = unwrapReply(await genesis.submitResult(submission));
    if (reply.accepted) {
      await context.state.removeHandle(await context.target(), handle);
      if (drafts) await removeWorktree(context, handle);
      return context.printReply(reply, () => submissionText(task_id, reply, paths));
    }
    reportRefusal(context, reply, reply.parked === null ? '' : `The work is kept as ${reply.parked}.`);
    for (const line of refusalLines(task_id, reply, context.paint)) context.printNotice(line);
  },
});

async function readResult(
  context: CommandContext,
  genesis: Genesis,
  { file, data }: { file?: string; data?: string },
): Promise<ResultBody> {
  if (file !== undefined && data !== undefined) throw wrongUsage('Pass either --file or --data, not both.');
  if (data !== undefined) {
    try {
      return { result_data: JSON.parse(data) as unknown };
    } catch {
      throw wrongUsage('--data is not valid JSON. Quote it for the shell, or pass a file with --file.');
    }
  }
  if (file !== undefined) {
    const bytes = await readFile(resolve(context.io.cwd, file)).catch((error) => {
      throw fileUnreadable(file, error, 'Nothing was submitted.');
    });
    return resultBody(genesis, bytes);
  }
  const { stdin } = context.io;
  if ('isTTY' in stdin && stdin.isTTY === true) {
    throw wrongUsage('No result given. Pass --file PATH or --data JSON, or pipe it to standard input.');
  }
  const piped = await buffer(stdin);
  // A failed upstream program or a missing pipe gives empty input; do not submit that as a result.
  if (piped.byteLength === 0) {
    throw wrongUsage(
      'Standard input is empty. Pass the result with --file PATH or --data JSON, or pipe it in.',
    );
  }
  return resultBody(genesis, piped);
}
