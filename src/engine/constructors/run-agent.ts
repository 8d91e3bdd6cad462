import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cost } from '../../core/engine/check-outcome.js';
import { EngineError, engineError } from '../engine-error.js';
import { type GroupExit, runProcessGroup } from '../processes/process-group.js';
import { stoppedError, withTimeLimit } from '../time-limit.js';
import { type AgentOutput, readAgentOutput } from './agent-output.js';

export interface AgentCommand {
  readonly command: readonly string[];
  readonly timeout_seconds?: number;
}

interface AgentRun {
  readonly prompt: string;
  /** The working directory of the agent. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
}

interface AgentAnswer {
  readonly message: string;
  /** The session of the agent, if its output names one; otherwise a new one. */
  readonly session: string;
  readonly cost: Cost;
}

const TIMEOUT_SECONDS_DEFAULT = 30 * 60;
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;
const PROMPT_VARIABLE = 'GENESIS_PROMPT';

/**
 * Runs a command-line agent in a separate process group, without a shell. It gets the prompt on stdin and in the file
 * `$GENESIS_PROMPT`. No process of the group is left when this function returns or throws.
 */
export async function runAgent(agent: AgentCommand, run: AgentRun): Promise<AgentAnswer> {
  const signal = withTimeLimit(run.signal, agent.timeout_seconds ?? TIMEOUT_SECONDS_DEFAULT);
  const startMs = performance.now();
  // The prompt is outside the working directory, because files in there become part of the candidate.
  const promptFolder = await mkdtemp(join(tmpdir(), 'gen-prompt-'));
  try {
    const promptFile = join(promptFolder, 'prompt.md');
    await writeFile(promptFile, run.prompt, { mode: 0o600 });
    const exit = await runAgentProcess(agent, run, promptFile, signal);
    const output = readAgentOutput(exit.stdout);
    const cost = { ...output.cost, seconds: (performance.now() - startMs) / 1000 };
    if (signal.aborted) {
      const { name, message } = stoppedError(signal, programOf(agent));
      throw new EngineError(name, message, cost);
    }
    if (exit.exit_code !== 0 || output.is_error) throw failedAgentError(agent, exit, output, cost);
    return { message: output.message, session: output.session ?? `command:${randomUUID()}`, cost };
  } finally {
    await rm(promptFolder, { recursive: true, force: true });
  }
}

async function runAgentProcess(
  agent: AgentCommand,
  { prompt, folder, env }: AgentRun,
  promptFile: string,
  signal: AbortSignal,
): Promise<GroupExit> {
  try {
    return await runProcessGroup({
      command: agent.command,
      cwd: folder,
      env: { ...agentEnvironment(env), [PROMPT_VARIABLE]: promptFile },
      stdin: prompt,
      tailBytes: OUTPUT_BYTES_MAX,
      signal,
      stopWith: () => 'SIGTERM',
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw engineError('failed', `${programOf(agent)} cannot be started: ${why}`);
  }
}

/**
 * The user's own environment, in which the agent is logged in, without the variables of Genesis: they contain keys and the
 * handle of the claim, and the engine alone reports results.
 */
const agentEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^GENESIS_/i.test(name)));

const programOf = ({ command }: AgentCommand): string => command[0] ?? '';

const REASON_CHARS_MAX = 500;

function failedAgentError(
  agent: AgentCommand,
  exit: GroupExit,
  output: AgentOutput,
  cost: Cost,
): EngineError {
  const reason = (exit.stderr.trim() || output.message).slice(-REASON_CHARS_MAX);
  const how = exit.exit_code === 0 ? 'reported an error' : `ended with exit code ${exit.exit_code}`;
  return engineError('failed', `${programOf(agent)} ${how}: ${reason}`, cost);
}
