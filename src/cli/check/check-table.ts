import type { CheckOutcome } from '../../core/engine/check-outcome.js';
import type { CheckExecution } from '../../engine/checks/check-execution.js';
import type { CommandContext } from '../context.js';
import { singleLine } from '../output/text.js';

const LINES_SHOWN_MAX = 20;
const LINE_CHARS_MAX = 400;

/** The last lines of the output of a command. */
export function lastLines(output: Uint8Array): string[] {
  const lines = Buffer.from(output).toString('utf8').trimEnd().split('\n');
  return lines.slice(-LINES_SHOWN_MAX).map((line) => singleLine(line).slice(0, LINE_CHARS_MAX));
}

/** A row for each check, and the last lines of output of each check that has not passed. */
export function checkResultLines(context: CommandContext, results: readonly CheckExecution[]): string[] {
  const { paint } = context;
  const outcomes = results.map(({ outcome }) => outcome);
  const columns = [
    {
      title: 'check',
      cell: ({ name, required }: CheckOutcome) => (required ? name : `${name} (not required)`),
    },
    { title: 'result', cell: ({ result }: CheckOutcome) => result, is_fixed: true },
    {
      title: 'time',
      cell: ({ duration_ms }: CheckOutcome) => `${(duration_ms / 1000).toFixed(1)} s`,
      is_fixed: true,
    },
    { title: 'says', cell: ({ says }: CheckOutcome) => says, is_flexible: true },
  ];
  const outputLines = results.flatMap(({ outcome, output }) => {
    if (outcome.result === 'pass' || output.length === 0) return [];
    const lines = lastLines(output).map((line) => paint.dim(`    ${line}`));
    return ['', `  ${singleLine(outcome.name)}: ${outcome.says}`, ...lines];
  });
  return [context.table(outcomes, columns), ...outputLines];
}
