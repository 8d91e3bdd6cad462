import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { SubmitAsked } from '../../client/asked.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../exit.js';

export type Evaluators = NonNullable<SubmitAsked['evaluators']>;
export type CheckReport = Evaluators['details'][number];

const RESULTS = ['pass', 'fail', 'skip', 'error', 'pending'] as const;

/** `NAME=RESULT`, once for each check. A name may have `=` in it, a result has none. */
export function checkReport(text: string, before: readonly CheckReport[] = []): CheckReport[] {
  const cut = text.lastIndexOf('=');
  const result = RESULTS.find((each) => each === text.slice(cut + 1));
  if (cut < 1 || result === undefined)
    throw new InvalidArgumentError(`Expected NAME=RESULT, where RESULT is ${RESULTS.join(', ')}.`);
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
  if (file === undefined) return check.length === 0 ? null : counted({}, check);
  const said = await readReports(context, file);
  const details = Array.isArray(said) ? said : (said as { details?: unknown }).details;
  if (!Array.isArray(details)) throw notReports(file);
  // Each report is read where the submission is decided; only the counts are made here.
  return counted(Array.isArray(said) ? {} : said, [...(details as CheckReport[]), ...check]);
}

function counted(said: object, details: readonly CheckReport[]): Evaluators {
  const times = (...results: readonly string[]) =>
    details.filter((report) => results.includes(report?.result)).length;
  const counts = { passed: times('pass'), failed: times('fail', 'error'), skipped: times('skip') };
  return { ...said, ...counts, total: details.length, details: [...details] };
}

async function readReports({ io }: Context, file: string): Promise<object> {
  const text = await readFile(resolve(io.cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(`${file} cannot be read (${error.code}). Nothing was submitted.`);
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
  new CommandFailure(
    `${file} does not say how checks came out. Expected JSON: [{"name": …, "result": "pass"}], or an object with ` +
      'that list under details. Nothing was submitted.',
  );
