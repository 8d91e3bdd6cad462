import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Genesis } from '../../client/index.js';
import type { TaskResult } from '../../core/contract/tasks.js';
import { unifiedDiff } from '../../core/line-diff.js';
import { acceptedResult } from '../../core/views/index.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { combineCommands, defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { failureWithCode, wrongUsage } from '../exit.js';
import { AT_OPTION, parseWholeNumber } from '../option-parsers.js';
import { formatUtc } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import {
  adoptableResults,
  allResults,
  describeResult,
  requireGeneration,
  resultsText,
  resultWithId,
} from '../task-results/find-result.js';
import { outputBytes, type ShownContent, shownContent } from '../task-results/result-content.js';

const result = defineCommand('result <id>', {
  description: 'show the accepted result, or another result',
  options: {
    '--generation <n>': { about: 'the result of this generation', parse: parseWholeNumber },
    '--parked <id>': 'this parked result (see gen task history)',
    '--output <file>': 'write the whole content to this file; a JSON string as its text, without quotes',
    ...AT_OPTION,
  },
  help: `
Text and JSON up to 1 MiB are printed; a larger or binary result is described. A one-line description of the result goes
to standard error, so that standard output has its content only.

Examples:
  gen task result A-001-schema
  gen task result A-001-schema --generation 2 --output schema.sql
  gen task result A-001-schema --parked res_0123456789abcdef01234567`,
  async run(context, taskId, { generation, parked, output, at }) {
    if (generation !== undefined && parked !== undefined)
      throw wrongUsage('--generation and --parked select one result each. Pass only one of them.');
    const genesis = await context.genesis();
    const results = await allResults(genesis, taskId, withoutUndefined({ at }));
    const selected = selectResult(taskId, results, generation, parked);
    if (output !== undefined) return writeResult(context, genesis, selected, output);
    if (context.is_json)
      return context.printJson(
        selected.blob_sha256 === null ? selected : unwrapReply(await genesis.result(taskId, selected.id)),
      );
    const content = await shownContent(genesis, selected);
    context.warn(headline(selected));
    if ('text' in content) context.print(content.text.replace(/\n$/, ''));
    else context.print(`${content.described}. Write it to a file: --output FILE`);
  },
});

function selectResult(
  taskId: string,
  results: readonly TaskResult[],
  generation: number | undefined,
  parked: string | undefined,
): TaskResult {
  if (parked !== undefined) return resultWithId(results, parked);
  if (generation !== undefined) return requireGeneration(results, generation);
  const accepted = acceptedResult(results);
  if (accepted !== undefined) return accepted;
  const next = results.length === 0 ? '' : ' Pass --generation N or --parked ID.';
  throw failureWithCode('NOT_FOUND', `${taskId} has no accepted result. ${resultsText(results)}${next}`);
}

async function writeResult(
  context: CommandContext,
  genesis: Genesis,
  selected: TaskResult,
  output: string,
): Promise<void> {
  const path = resolve(context.io.cwd, output);
  const bytes = await outputBytes(genesis, selected);
  await writeFile(path, bytes).catch(({ code }: NodeJS.ErrnoException) => {
    throw wrongUsage(`--output: ${path} cannot be written (${code}). Pass another path.`);
  });
  const { result_data: _, ...described } = selected;
  context.printReply({ ...described, file: path, size_bytes: bytes.byteLength }, () => [
    headline(selected),
    `${bytes.byteLength} bytes written to ${path}.`,
  ]);
}

const headline = (result: TaskResult): string =>
  `${result.id}: ${describeResult(result)}, by ${result.agent_id} at ${formatUtc(result.submitted_at)} UTC, ${result.work_product_ref}`;

const diff = defineCommand('diff <id>', {
  description: 'compare two results, by default the accepted one with the last parked one',
  options: {
    '--from <result>': 'generation, or id of a result (default: the accepted result)',
    '--to <result>': 'generation, or id of a result (default: the last parked result)',
  },
  help: `
Prints a unified diff of text; JSON is indented first. Binary results, and those over 1 MiB, are described.

Examples:
  gen task diff A-001-schema
  gen task diff A-001-schema --from 1 --to 3`,
  async run(context, taskId, { from, to }) {
    const genesis = await context.genesis();
    const results = await allResults(genesis, taskId);
    const before = comparedResult(results, from, acceptedResult(results), '--from', 'accepted');
    const after = comparedResult(results, to, adoptableResults(results).at(-1), '--to', 'parked');
    const [beforeContent, afterContent] = [
      await shownContent(genesis, before),
      await shownContent(genesis, after),
    ];
    const difference = compareContents(beforeContent, afterContent);
    const [fromEntry, toEntry] = [before, after].map(({ result_data: _, ...entry }) => entry);
    context.printReply({ task_id: taskId, from: fromEntry, to: toEntry, ...difference }, ({ same, diff }) => [
      `--- ${headline(before)}`,
      `+++ ${headline(after)}`,
      ...(same ? ['The results are the same.'] : [diff ?? describePair(beforeContent, afterContent)]),
    ]);
  },
});

function comparedResult(
  results: readonly TaskResult[],
  selector: string | undefined,
  byDefault: TaskResult | undefined,
  option: string,
  kind: string,
): TaskResult {
  if (selector !== undefined)
    return /^\d{1,9}$/.test(selector)
      ? requireGeneration(results, Number(selector))
      : resultWithId(results, selector);
  if (byDefault !== undefined) return byDefault;
  throw failureWithCode(
    'NOT_FOUND',
    `There is no ${kind} result to compare. ${resultsText(results)} Pass ${option} GENERATION or ${option} RESULT.`,
  );
}

/** `diff` is null if one of the results has no text that can be shown. */
function compareContents(before: ShownContent, after: ShownContent): { same: boolean; diff: string | null } {
  if ('text' in before && 'text' in after)
    return { same: before.text === after.text, diff: unifiedDiff(before.text, after.text) };
  return {
    same: 'described' in before && 'described' in after && before.described === after.described,
    diff: null,
  };
}

const describePair = (before: ShownContent, after: ShownContent): string =>
  [before, after]
    .map(
      (content, at) =>
        `${at === 0 ? '-' : '+'} ${'text' in content ? `text, ${content.text.length} characters` : content.described}`,
    )
    .join('\n');

export const taskResultCommands = combineCommands(result, diff);
