import { setTimeout as sleep } from 'node:timers/promises';
import { type RunMeasurement, summarizeLatencies } from '../measurement.js';
import { type AgentOperation, BenchAgent } from './agent.js';
import { startCpuMeter } from './cpu.js';
import { FleetReplies } from './fleet-replies.js';
import { type BenchTask, uploadPlans } from './plan.js';

export interface LoadOptions {
  readonly url: string;
  /** Process id of the server. */
  readonly pid: number;
  /** Process id of the database, if the server uses one. */
  readonly database_pid?: number;
  /** Tokens that the agents share; empty: the server is open. */
  readonly tokens: readonly string[];
  readonly agents: number;
  /** Requests per second. */
  readonly rate: number;
  readonly seconds: number;
}

/** Excluded from the measurement: a new server is still compiling its code. */
export const WARM_UP_SECONDS = 4;
const OPERATIONS_PER_TASK = 3;
/** In every fifth turn, an agent requests the task that its neighbour has just chosen, if any; one of the two gets it. */
const CONTESTED_EVERY = 5;

/**
 * Open-loop load: requests are sent when they are due, whether or not the server keeps up. Each agent has a turn every
 * agents/rate seconds, and latency counts from that turn.
 */
export async function measurePaced({ url, pid, agents: count, rate, seconds }: LoadOptions) {
  const totalSeconds = WARM_UP_SECONDS + seconds;
  const tasks = await uploadPlans(url, Math.ceil((rate * totalSeconds) / OPERATIONS_PER_TASK) + 2 * count);
  const replies = new FleetReplies();
  const agents = Array.from({ length: count }, (_, index) => new BenchAgent(url, index, replies, true));
  const latenciesMs: Record<AgentOperation, number[]> = { claim: [], renew: [], submit: [] };
  let nextTask = 0;
  const recentChoices = new Map<number, BenchTask>();
  const chooseTask = (agent: number, turn: number): BenchTask => {
    const neighboursChoice = recentChoices.get(agent ^ 1);
    recentChoices.delete(agent ^ 1);
    if (turn % CONTESTED_EVERY === 0 && neighboursChoice !== undefined) return neighboursChoice;
    const task = tasks[nextTask++]!;
    recentChoices.set(agent, task);
    return task;
  };
  const startMs = performance.now();
  const measuredFromMs = startMs + WARM_UP_SECONDS * 1000;
  const runAgent = async (agent: BenchAgent, index: number): Promise<void> => {
    for (let turn = 0; ; turn += 1) {
      const dueMs = startMs + ((turn * count + index) * 1000) / rate;
      if (dueMs >= startMs + totalSeconds * 1000) return;
      const earlyMs = dueMs - performance.now();
      if (earlyMs > 0) await sleep(Math.ceil(earlyMs));
      const operation = agent.nextOperation;
      await (operation === 'claim' ? agent.claim(chooseTask(index, turn)) : agent[operation]());
      if (dueMs >= measuredFromMs) latenciesMs[operation].push(performance.now() - dueMs);
    }
  };
  const working = agents.map(runAgent);
  await sleep(WARM_UP_SECONDS * 1000);
  const cpuSince = startCpuMeter(pid);
  await Promise.all(working);
  const server_cpu_seconds = cpuSince();
  const measuredSeconds = (performance.now() - measuredFromMs) / 1000;
  await Promise.all(agents.map((agent) => agent.close()));
  const { claim, renew, submit } = latenciesMs;
  const measured: RunMeasurement = {
    seconds: measuredSeconds,
    server_cpu_seconds,
    jobs: submit.length,
    requests: claim.length + renew.length + submit.length,
    latencies: {
      claim: summarizeLatencies(claim),
      renew: summarizeLatencies(renew),
      complete: summarizeLatencies(submit),
    },
  };
  return { measured, replies };
}
