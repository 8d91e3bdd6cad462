import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { Genesis } from '../../client/index.js';
import type { CheckReport, CheckReports } from '../../client/requests.js';
import { didYouMean } from '../../core/closest-names.js';
import { CHECK_RESULTS } from '../../core/contract/values.js';
import { withResultCounts } from '../../core/methodology/definition/convergence.js';
import type { CommandContext } from '../context.js';
import { fileUnreadable, wrongUsage } from '../exit.js';
import { jsonOrText } from '../json-or-text.js';
import { unwrapReply } from '../replies.js';

const EXPECTED_FORMAT =
  'Expected JSON: [{"name": …, "result": "pass"}], or an object with that list under details.';

/** Parses `NAME=RESULT`, given once per check. A name may contain `=`; a result does not. */
export function parseCheckReport(text: string, earlier: readonly CheckReport[] = []): CheckReport[] {
  const separator = text.lastIndexOf('=');
  const result = CHECK_RESULTS.find((each) => each === text.slice(separator + 1));
  if (separator < 1 || result === undefined)
    throw new InvalidArgumentError(`Expected NAME=RESULT, where RESULT is ${CHECK_RESULTS.join(', ')}.`);
  return [...earlier, { name: text.slice(0, separator), result }];
}

/** The check reports from the options and from the file, if there are any. Duplicates are counted twice. */
export async function readEvaluators(
  context: CommandContext,
  check: readonly CheckReport[],
  file: string | undefined,
): Promise<CheckReports | undefined> {
  if (file === undefined) return check.length === 0 ? undefined : withResultCounts(check);
  const text = await readFile(resolve(context.io.cwd, file), 'utf8').catch((error) => {
    throw fileUnreadable(file, error, 'Nothing was submitted.');
  });
  const parsed = jsonOrText(text) as { details?: unknown } | null;
  const details = detailsOf(parsed);
  if (details === null)
    throw wrongUsage(`${file} contains no check results. ${EXPECTED_FORMAT} Nothing was submitted.`);
  // The submission validates each report; this only counts results.
  const counted = withResultCounts([...(details as CheckReport[]), ...check]);
  return Array.isArray(parsed) ? counted : { ...parsed, ...counted };
}

function detailsOf(parsed: { readonly details?: unknown } | null): unknown[] | null {
  const details = Array.isArray(parsed) ? parsed : parsed?.details;
  return Array.isArray(details) ? details : null;
}

/** Parses the file GENESIS_CHECKS, to which a program writes results of checks. Throws if it has no list, or an invalid one. */
export function parseCheckReports(text: string): CheckReport[] {
  const details = detailsOf(jsonOrText(text) as { details?: unknown } | null);
  if (details?.every(isCheckReport)) return details;
  throw new Error(`$GENESIS_CHECKS contains no valid check results. ${EXPECTED_FORMAT} ${RESULTS_TEXT}`);
}

const RESULTS_TEXT = `A result is ${CHECK_RESULTS.join(', ')}.`;

function isCheckReport(value: unknown): value is CheckReport {
  const { name, result } = (value ?? {}) as { name?: unknown; result?: unknown };
  return typeof name === 'string' && CHECK_RESULTS.some((each) => each === result);
}

/**
 * Fails if a check of `--check` does not exist on the edge: its report would otherwise be ignored silently. Where no checks
 * are defined, as for a task, any name is accepted.
 */
export async function assertKnownChecks(
  genesis: Genesis,
  taskId: string,
  reports: readonly CheckReport[],
): Promise<void> {
  if (reports.length === 0) return;
  const { checks = [] } = unwrapReply(await genesis.task(taskId));
  const names = checks.map(({ name }) => name);
  const unknown = names.length === 0 ? undefined : reports.find(({ name }) => !names.includes(name));
  if (unknown === undefined) return;
  const suggestion = didYouMean(unknown.name, names);
  throw wrongUsage(
    `${taskId} has no check ${unknown.name}.${suggestion} ` +
      `Its checks: ${names.join(', ')}. Nothing was submitted.`,
  );
}
