import { sha256Hex } from '../../coordinator/runtime/identity.js';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import { checkDigestText } from '../../core/engine/check-digest.js';
import { type CheckOutcome, outcomeWithoutCommand } from '../../core/engine/check-outcome.js';
import { judgeCommand, type ReportFacts } from '../../core/engine/check-verdict.js';
import {
  type CheckCommand,
  commandDigestText,
  isCommandRefusal,
  parseCheckCommand,
} from '../../core/engine/command-line.js';
import { truncatedSays } from '../../core/engine/says.js';
import { pathFault } from '../../core/methodology/definition/asset-path.js';
import type { CheckExecution, CheckLimits, CheckRequest, ExecuteCheck } from './check-execution.js';
import type { CommandExecutor, Execution } from './command-executor.js';
import { isCoverageFormat } from './reports/parse-report.js';
import { readReport } from './reports/read-report.js';
import { OUTPUT_STOP_FACTOR } from './run-command.js';

/** The limits of a check that does not set its own. */
export const DEFAULT_CHECK_LIMITS: CheckLimits = {
  timeout_ms: 10 * 60_000,
  memory_bytes: 4 * 1024 ** 3,
  disk_bytes: 2 * 1024 ** 3,
  output_bytes: 1024 ** 2,
  processes: 1024,
};

const SETUP_OUTPUT_CHARS_MAX = 500;

/** A check whose command can be run, with the digests of the command and of the check. */
interface RunnableCheck {
  readonly command: CheckCommand;
  readonly command_sha256: string;
  readonly check_sha256: string;
  readonly minimum_percent: number | null;
}

/** Parses a check's command. Returns a result and the reason instead if the check is skipped or not valid. */
export function runnableCheck(
  check: EffectiveCheck,
): RunnableCheck | { readonly result: 'skip' | 'error'; readonly says: string } {
  if (check.skipped !== null) return { result: 'skip', says: check.skipped };
  const command = parseCheckCommand(check.command ?? '', check.shell === true);
  if (isCommandRefusal(command)) return { result: 'error', says: `${command.says} ${command.next}` };
  const minimum = check.report === undefined ? null : minimumOf(check.report);
  if (typeof minimum === 'string') return { result: 'error', says: minimum };
  const command_sha256 = sha256Hex(commandDigestText(command));
  const check_sha256 = sha256Hex(checkDigestText(check) ?? '');
  return { command, command_sha256, check_sha256, minimum_percent: minimum };
}

/** The minimum coverage of a report, null if none is set; if the report's settings are not valid, a text with the fault. */
function minimumOf(report: NonNullable<EffectiveCheck['report']>): number | null | string {
  const { path, format, minimum_percent } = report;
  const fault = pathFault(path);
  if (fault !== null) return `The report's path ${JSON.stringify(path)} is not valid: ${fault}.`;
  if (minimum_percent === undefined) return null;
  if (!isCoverageFormat(format))
    return `\`minimum_percent\` is for coverage, which the format ${format} does not report. Remove it.`;
  const minimum = typeof minimum_percent === 'number' ? minimum_percent : percentOf(minimum_percent);
  if (minimum >= 0 && minimum <= 100) return minimum;
  return `\`minimum_percent\` is ${JSON.stringify(minimum_percent)}; it must be a number from 0 to 100.`;
}

/**
 * Parses a threshold that is a text. Projects often write thresholds as fractions: a text without a percent sign that is
 * at most 1 is a fraction, so 0.8 means 80 %.
 */
function percentOf(text: string): number {
  const number = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null;
  if (number !== null) return number <= 1 ? number * 100 : number;
  return Number(/^(\d+(?:\.\d+)?) ?%$/.exec(text.trim())?.[1] ?? Number.NaN);
}

export const checkExecutor =
  (executor: CommandExecutor): ExecuteCheck =>
  async (request) => {
    const { check, copy, signal } = request;
    signal.throwIfAborted();
    const runnable = runnableCheck(check);
    if ('says' in runnable) return unexecutedCheckOf(check, runnable);
    const { command } = runnable;
    const argv = command.kind === 'argv' ? command.argv : ['sh', '-c', command.line];
    const limits = limitsOf(request);
    const execution = await executor.execute({
      copy,
      argv,
      limits,
      report: check.report?.path ?? null,
      signal,
    });
    const facts = await reportFacts(check.report, runnable.minimum_percent, execution.report, signal);
    return executedCheckOf(check, runnable, limits, execution, facts);
  };

function limitsOf({ check, limits }: CheckRequest): CheckLimits {
  const seconds = check.timeout_seconds;
  return seconds === undefined ? limits : { ...limits, timeout_ms: seconds * 1000 };
}

function unexecutedCheckOf(
  check: EffectiveCheck,
  { result, says }: Pick<CheckOutcome, 'result' | 'says'>,
): CheckExecution {
  const outcome = outcomeWithoutCommand(check, { result, says: truncatedSays(says) });
  return { outcome, output: new Uint8Array(), report: null };
}

function executedCheckOf(
  { name, type, required, report: settings }: EffectiveCheck,
  { command_sha256, check_sha256 }: RunnableCheck,
  limits: CheckLimits,
  execution: Execution,
  facts: ReportFacts,
): CheckExecution {
  const { exit_code, signal, duration_ms, output, report } = execution;
  const { result, says } = judgeCommand({
    exit_code,
    signal,
    stop_reason: stopText(execution, limits),
    start_failure: execution.is_started ? null : setupText(execution),
    remark: remarkText(execution, limits),
    report: facts,
  });
  const summary =
    settings === undefined || report === null || facts.kind !== 'read'
      ? null
      : { format: settings.format, sha256: sha256Hex(report), ...facts.counts };
  const outcome = {
    ...{ name, type, required, result, says: truncatedSays(says), command_sha256, check_sha256 },
    ...{ exit_code, signal, duration_ms, report: summary },
    output_sha256: output.byteLength === 0 ? null : sha256Hex(output),
  };
  return { outcome, output, report };
}

async function reportFacts(
  settings: EffectiveCheck['report'],
  minimum_percent: number | null,
  report: Uint8Array | null,
  signal: AbortSignal,
): Promise<ReportFacts> {
  if (settings === undefined) return { kind: 'none' };
  if (report === null)
    return { kind: 'unusable', says: `The command did not write its report ${settings.path}.` };
  const counts = await readReport(settings.format, report, signal);
  return 'says' in counts ? { kind: 'unusable', ...counts } : { kind: 'read', counts, minimum_percent };
}

const megabytes = (bytes: number): string => `${Math.round((bytes / 1024 ** 2) * 10) / 10} MB`;

function stopText({ stopped }: Execution, limits: CheckLimits): string | null {
  switch (stopped) {
    case null:
      return null;
    case 'timeout':
      return `Stopped: the command did not end within ${limits.timeout_ms / 1000} s (\`timeout_seconds\`).`;
    case 'output':
      return `Stopped: the command printed more than ${megabytes(limits.output_bytes * OUTPUT_STOP_FACTOR)}.`;
    case 'memory':
      return `Stopped: the command used more than ${megabytes(limits.memory_bytes)} of memory.`;
    case 'processes':
      return `Stopped: the command reached the limit of ${limits.processes} processes and threads.`;
  }
}

const FORK_REFUSED = /cannot fork|fork: (?:retry|resource temporarily unavailable)/i;

/** Names a limit that the command reached without being stopped. */
function remarkText(
  { is_disk_full, is_process_limit_reached, output }: Execution,
  limits: CheckLimits,
): string | null {
  if (is_process_limit_reached) return `The command reached the limit of ${limits.processes} processes.`;
  // A program that could not start a process may end before the processes are counted. Then only its output shows the
  // reason.
  if (FORK_REFUSED.test(Buffer.from(output).toString('latin1')))
    return `The command probably reached the limit of ${limits.processes} processes.`;
  return is_disk_full ? `The command's disk is full: the limit is ${megabytes(limits.disk_bytes)}.` : null;
}

function setupText({ spawn_error, stopped, output }: Execution): string {
  if (spawn_error !== null) return `The command could not be started: ${spawn_error}.`;
  const text = Buffer.from(output).toString('utf8').trim().slice(-SETUP_OUTPUT_CHARS_MAX);
  return `The sandbox could not be set up: ${text || stopped || 'no message'}`;
}
