import type { EffectiveCheck } from '../../core/contract/checks.js';
import type { Cost } from '../../core/engine/check-outcome.js';
import type { CompiledMachine } from '../../core/engine/compile-machine.js';
import { nextCommandOf } from '../../core/engine/run-advice.js';
import type { Run, RunStep } from '../../core/engine/runs.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import { singleLine } from './text.js';

/** A run with its steps; failed ones come first. */
export const runText = (run: Run, context: CommandContext): string =>
  [...summaryLines(run, context), '', stepTable([...run.steps].sort(failedFirst), context)].join('\n');

/** Shows a run after it was executed. Without its steps if they were drawn, because they are on the screen already. */
export const showRun = (run: Run, context: CommandContext): void =>
  context.printReply(run, () => (canRedraw(context) ? summaryLines(run, context) : runText(run, context)));

/** Whether the states of a run can be redrawn in place. */
export const canRedraw = ({ io, is_json }: CommandContext): boolean =>
  io.columns !== null && !is_json && io.env.TERM !== 'dumb';

export function reportStopped(context: CommandContext): void {
  context.printNotice('Stopped. The same command continues from the last completed step.');
  context.exit_code = EXIT.stopped;
}

function summaryLines(run: Run, context: CommandContext): string[] {
  return [
    `${statusText(run, context)} ${run.task_id}, generation ${run.generation}, ${iterationsText(run.iterations)}`,
    ...decisionLines(run),
    ...(run.says === '' ? [] : context.wrap(singleLine(run.says), 2)),
    `  Run ${run.run_id}, spent ${costText(run.spent)}`,
    ...timeLines(run),
    ...nextLines(run),
  ];
}

const WAITS_FOR: Readonly<Record<string, string>> = { WAITING: 'a review', REQUESTED: 'an executor' };

function nextLines(run: Run): string[] {
  const next = nextCommandOf(run);
  if (next === null) return [];
  const awaited = run.decision === null ? WAITS_FOR[run.status] : undefined;
  return [awaited === undefined ? `  Next: ${next}` : `  Waits for ${awaited}: ${next}`];
}

function statusText(run: Run, { paint }: CommandContext): string {
  const { status } = run;
  const color = status === 'CONVERGED' ? paint.green : status === 'RUNNING' ? paint.bold : paint.yellow;
  return color(runStatus(run));
}

type DecidedRun = Pick<
  Run,
  'status' | 'reason' | 'decision' | 'decided_by' | 'decided_at' | 'edge_converged_at'
>;

/** The status with its reason; for a waiting run on which a person has decided, the decision. */
function runStatus({ status, reason, decision }: Pick<Run, 'status' | 'reason' | 'decision'>): string {
  if (status === 'WAITING' && decision !== null) return `DECIDED (${decision})`;
  return reason === null ? status : `${status} (${reason})`;
}

/** The status on one line, with the decision that a person made after an escalated run had ended. */
export const runStatusLine = (run: DecidedRun): string => [runStatus(run), ...laterDecision(run)].join(', ');

const decisionLines = (run: DecidedRun): string[] =>
  laterDecision(run).map((text) => `  ${singleLine(text)}`);

function laterDecision(run: DecidedRun): string[] {
  const { status, decision, decided_by, decided_at, edge_converged_at } = run;
  if (status !== 'ESCALATED' || decision === null) return [];
  const by = decided_by ? ` by ${decided_by}` : '';
  const at = decided_at ? ` on ${decided_at}` : '';
  const effect = edge_converged_at ? '; the edge converged' : '';
  return [`${DECISION_TEXTS[decision] ?? decision}${by}${at}${effect}`];
}

const DECISION_TEXTS: Readonly<Record<string, string>> = {
  APPROVED: 'approved',
  REJECTED: 'rejected',
  CHANGES_REQUESTED: 'changes requested',
};

function timeLines({ requested_at, requested_by, started_at, ended_at, agent_id, retry_of }: Run): string[] {
  const requested = requested_at === null ? [] : [`requested ${requested_at} by ${callerName(requested_by)}`];
  const started = started_at === null ? [] : [`started ${started_at} by ${agent_id}`];
  const ended = ended_at === null ? [] : [`ended ${ended_at}`];
  const times = [...requested, ...started, ...ended].map(singleLine);
  return [...times.map((time) => `  ${time}`), ...(retry_of === null ? [] : [`  retry of ${retry_of}`])];
}

/** The name of a caller. A caller without a key has the id `open`. */
const callerName = (id: string | null): string => (id === 'open' ? 'anonymous' : String(id));

const failedFirst = (a: RunStep, b: RunStep): number =>
  Number(b.status === 'FAILED') - Number(a.status === 'FAILED');

function stepTable(steps: readonly RunStep[], context: CommandContext): string {
  return context.table(steps, [
    { title: 'ITERATION', cell: ({ iteration }) => String(iteration), is_fixed: true },
    { title: 'STEP', cell: ({ step }) => step },
    { title: 'STATUS', cell: ({ status, output }) => stepStatus(status, output) },
    {
      title: 'TIME',
      cell: ({ duration_ms }) => (duration_ms === null ? '' : `${(duration_ms / 1000).toFixed(1)} s`),
    },
    { title: 'INPUT', cell: ({ input_sha256 }) => input_sha256.slice(0, DIGEST_CHARS) },
    { title: 'OUTPUT', cell: outputText },
    { title: 'SAYS', cell: stepSays, is_flexible: true },
  ]);
}

const DIGEST_CHARS = 12;

/** Where the output of a step is: in the log, or in a blob. */
function outputText({ output, output_ref }: RunStep): string {
  if (output_ref !== null) return `blob ${output_ref.key.slice(0, DIGEST_CHARS)}`;
  return output === null ? '' : 'inline';
}

/** The status of a step. For a check it is the result of the check, because a failed check is a completed step. */
const stepStatus = (status: RunStep['status'], output: RunStep['output']): string =>
  typeof output?.result === 'string' ? output.result.toUpperCase() : status;

function stepSays({ error, cause, output, attempts }: RunStep): string {
  const tries = attempts > 1 ? `attempt ${attempts}: ` : '';
  if (error !== null) return `${tries}${error}: ${cause}`;
  return typeof output?.says === 'string' ? `${tries}${output.says}` : tries;
}

const iterationsText = (count: number): string => (count === 1 ? '1 iteration' : `${count} iterations`);

export function costText({ input_tokens, output_tokens, usd, seconds }: Cost): string {
  const tokens = input_tokens + output_tokens;
  const money = usd === null ? 'cost unknown' : `$${usd.toFixed(4)}`;
  return tokens === 0 && !usd
    ? `${seconds.toFixed(1)} s`
    : `${tokens} tokens, ${money}, ${seconds.toFixed(1)} s`;
}

export function checklistText(
  checks: readonly EffectiveCheck[],
  { reason }: CompiledMachine,
  context: CommandContext,
): string {
  const rows = context.table(checks, [
    { title: 'CHECK', cell: ({ name }) => name },
    { title: 'BY', cell: ({ type }) => type },
    { title: 'REQUIRED', cell: ({ required }) => (required ? 'yes' : 'no') },
    { title: 'COMMAND', cell: ({ command = '' }) => command, is_flexible: true },
  ]);
  return [rows, '', reason].join('\n');
}
