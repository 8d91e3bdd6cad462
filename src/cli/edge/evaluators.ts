import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { SubmitAsked } from '../../client/asked.js';
import { CHECK_RESULTS, countedReports } from '../../core/graph/convergence.js';
import type { Context } from '../context.js';
import { type CommandFailure, unreadable, wrongUsage } from '../exit.js';

export type Evaluators = NonNullable<SubmitAsked['evaluators']>;
export type CheckReport = Evaluators['details'][number];

/** `NAME=RESULT`, once for each check. A name may have `=` in it, a result has none. */
export function checkReport(text: string, before: readonly CheckReport[] = []): CheckReport[] {
  const cut = text.lastIndexOf('=');
  const result = CHECK_RESULTS.find((each) => each === text.slice(cut + 1));
  if (cut < 1 || result === undefined)
    throw new InvalidArgumentError(`Expected NAME=RESULT, where RESULT is ${CHECK_RESULTS.join(', ')}.`);
  return [...before, { name: text.slice(0, cut), result }];
}

export interface EvaluatorOptions {
  readonly check?: readonly CheckReport[];
  readonly evaluators?: string;
}

/** What was reported of the checks, by file and by option; null: nothing. What is said twice counts twice. */
export async function evaluatorsGiven(
  context: Context,
  { check = [], evaluators: file }: EvaluatorOptions,
): Promise<Evaluators | null> {
  if (file === undefined) return check.length === 0 ? null : countedReports(check);
  const said = await readReports(context, file);
  const details = Array.isArray(said) ? said : (said as { details?: unknown }).details;
  if (!Array.isArray(details)) throw notReports(file);
  // Each report is read where the submission is decided; only the counts are made here.
  const counted = countedReports([...(details as CheckReport[]), ...check]);
  return Array.isArray(said) ? counted : { ...said, ...counted };
}

async function readReports({ io }: Context, file: string): Promise<object> {
  const text = await readFile(resolve(io.cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw unreadable(file, error, 'Nothing was submitted.');
  });
  try {
    const said = JSON.parse(text) as unknown;
    if (typeof said === 'object' && said !== null) return said;
  } catch {
    // Said below, as for everything else that is no report.
  }
  throw notReports(file);
}

const notReports = (file: string): CommandFailure =>
  wrongUsage(
    `${file} does not say how checks came out. Expected JSON: [{"name": …, "result": "pass"}], or an object with ` +
      'that list under details. Nothing was submitted.',
  );
