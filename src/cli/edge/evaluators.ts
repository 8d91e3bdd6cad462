import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { SubmitResultRequest } from '../../client/requests.js';
import { CHECK_RESULTS, withResultCounts } from '../../core/methodology/definition/convergence.js';
import type { CommandContext } from '../context.js';
import { type CommandFailure, fileUnreadable, wrongUsage } from '../exit.js';

export type Evaluators = NonNullable<SubmitResultRequest['evaluators']>;
export type CheckReport = Evaluators['details'][number];

/** Parses `NAME=RESULT`, given once per check. A name may contain `=`; a result does not. */
export function parseCheckReport(text: string, before: readonly CheckReport[] = []): CheckReport[] {
  const separator = text.lastIndexOf('=');
  const result = CHECK_RESULTS.find((each) => each === text.slice(separator + 1));
  if (separator < 1 || result === undefined)
    throw new InvalidArgumentError(`Expected NAME=RESULT, where RESULT is ${CHECK_RESULTS.join(', ')}.`);
  return [...before, { name: text.slice(0, separator), result }];
}

export interface EvaluatorOptions {
  readonly check?: readonly CheckReport[];
  readonly evaluators?: string;
}

/** The check reports from the file and from the options; null if there are none. Duplicates are counted twice. */
export async function readEvaluators(
  context: CommandContext,
  { check = [], evaluators: file }: EvaluatorOptions,
): Promise<Evaluators | null> {
  if (file === undefined) return check.length === 0 ? null : withResultCounts(check);
  const parsed = await readReports(context, file);
  const details = Array.isArray(parsed) ? parsed : (parsed as { details?: unknown }).details;
  if (!Array.isArray(details)) throw invalidReports(file);
  // The submission validates each report; this only counts results.
  const counted = withResultCounts([...(details as CheckReport[]), ...check]);
  return Array.isArray(parsed) ? counted : { ...parsed, ...counted };
}

async function readReports({ io }: CommandContext, file: string): Promise<object> {
  const text = await readFile(resolve(io.cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw fileUnreadable(file, error, 'Nothing was submitted.');
  });
  try {
    const parsed = JSON.parse(text) as unknown;
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // Falls through to the failure below.
  }
  throw invalidReports(file);
}

const invalidReports = (file: string): CommandFailure =>
  wrongUsage(
    `${file} does not say how checks came out. Expected JSON: [{"name": …, "result": "pass"}], or an object with ` +
      'that list under details. Nothing was submitted.',
  );
