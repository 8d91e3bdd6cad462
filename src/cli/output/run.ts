import type { EffectiveCheck } from '../../core/contract/tasks.js';
import type { Cost } from '../../core/engine/check-outcome.js';
import type { CompiledMachine } from '../../core/engine/compile-machine.js';
import type { Run, RunStep } from '../../core/engine/runs.js';
import type { CommandContext } from '../context.js';
import { singleLine } from './text.js';

/** A run with its steps; failed ones come first. */
export function runText(run: Run, context: CommandContext): string {
  const { paint } = context;
  const color =
    run.status === 'CONVERGED' ? paint.green : run.status === 'RUNNING' ? paint.bold : paint.yellow;
  const lines = [
    `${color(run.status)} ${run.subject}, generation ${run.generation}, ${iterationsText(run.iterations)}`,
    ...(run.says === '' ? [] : context.wrap(singleLine(run.says), 2)),
    ...(run.status === 'WAITING' ? [`  Waits for a review: gen review`] : []),
    `  Run ${run.run_id}, ${costText(run.spent)}`,
    '',
  ];
  return [...lines, stepTable([...run.steps].sort(failedFirst), context)].join('\n');
}

const failedFirst = (a: RunStep, b: RunStep): number =>
  Number(b.status === 'FAILED') - Number(a.status === 'FAILED');

function stepTable(steps: readonly RunStep[], context: CommandContext): string {
  return context.table(steps, [
    { head: 'ITERATION', cell: ({ iteration }) => String(iteration), is_fixed: true },
    { head: 'STEP', cell: ({ step }) => step },
    { head: 'STATUS', cell: ({ status, output }) => stepStatus(status, output) },
    {
      head: 'TIME',
      cell: ({ duration_ms }) => (duration_ms === null ? '' : `${(duration_ms / 1000).toFixed(1)} s`),
    },
    { head: 'SAYS', cell: stepSays, is_flexible: true },
  ]);
}

/** Of a check, its own result: a failed check is a completed step. */
const stepStatus = (status: RunStep['status'], output: RunStep['output']): string =>
  typeof output?.result === 'string' ? output.result.toUpperCase() : status;

function stepSays({ error, cause, output, attempts }: RunStep): string {
  const tries = attempts > 1 ? `attempt ${attempts}: ` : '';
  if (error !== null) return `${tries}${error}: ${cause}`;
  return typeof output?.says === 'string' ? `${tries}${output.says}` : tries;
}

export const iterationsText = (count: number): string =>
  count === 1 ? '1 iteration' : `${count} iterations`;

export function costText({ input_tokens, output_tokens, usd, seconds }: Cost): string {
  const tokens = input_tokens + output_tokens;
  const money = usd === null ? 'cost unknown' : `$${usd.toFixed(4)}`;
  return tokens === 0 && !usd
    ? `${seconds.toFixed(1)} s`
    : `${tokens} tokens, ${money}, ${seconds.toFixed(1)} s`;
}

export function checklistText(
  checks: readonly EffectiveCheck[],
  { reason, machine }: CompiledMachine,
  context: CommandContext,
): string {
  const rows = context.table(checks, [
    { head: 'CHECK', cell: ({ name }) => name },
    { head: 'BY', cell: ({ type }) => type },
    { head: 'REQUIRED', cell: ({ required }) => (required ? 'yes' : 'no') },
    { head: 'COMMAND', cell: ({ command = '' }) => command, is_flexible: true },
  ]);
  return [rows, '', reason, '', JSON.stringify(machine, null, 2)].join('\n');
}
