import { setTimeout as sleep } from 'node:timers/promises';
import { type Measured, timed } from '../measurement.js';
import { Agent, type Operation } from './agent.js';
import { countCpu } from './cpu.js';
import { Told } from './fleet-replies.js';
import { plannedTasks, type Task } from './plan.js';

export interface Pace {
  readonly url: string;
  /** Process id of the server. */
  readonly pid: number;
  readonly agents: number;
  readonly rate: number;
  readonly seconds: number;
}

/** Excluded from the measurement: a new server is still compiling its code. */
export const WARM_UP_SECONDS = 4;
const OPERATIONS_PER_TASK = 3;
/** Every fifth round, two neighbours request the same task at the same time, and one of them gets it. */
const CONTESTED_EVERY = 5;

/**
 * Open-loop load: requests are sent when they are due, whether or not the server keeps up. Each agent has a turn every
 * agents/rate seconds, and latency counts from that turn.
 */
export async function paced({ url, pid, agents: count, rate, seconds }: Pace) {
  const total_seconds = WARM_UP_SECONDS + seconds;
  const tasks = await plannedTasks(url, Math.ceil((rate * total_seconds) / OPERATIONS_PER_TASK) + 2 * count);
  const told = new Told();
  const agents = Array.from({ length: count }, (_, number) => new Agent(url, number, told, true));
  const took_ms: Record<Operation, number[]> = { claim: [], renew: [], submit: [] };
  let next_task = 0;
  const wanted = new Map<number, Task>();
  const choose = (agent: number, turn: number): Task => {
    const neighbours_choice = wanted.get(agent ^ 1);
    wanted.delete(agent ^ 1);
    if (turn % CONTESTED_EVERY === 0 && neighbours_choice !== undefined) return neighbours_choice;
    const task = tasks[next_task++]!;
    wanted.set(agent, task);
    return task;
  };
  const began_ms = performance.now();
  const measured_from_ms = began_ms + WARM_UP_SECONDS * 1000;
  const oneAgent = async (agent: Agent, number: number): Promise<void> => {
    for (let turn = 0; ; turn += 1) {
      const due_ms = began_ms + ((turn * count + number) * 1000) / rate;
      if (due_ms >= began_ms + total_seconds * 1000) return;
      const early_ms = due_ms - performance.now();
      if (early_ms > 0) await sleep(Math.ceil(early_ms));
      const operation = agent.next;
      await (operation === 'claim' ? agent.claim(choose(number, turn)) : agent[operation]());
      if (due_ms >= measured_from_ms) took_ms[operation].push(performance.now() - due_ms);
    }
  };
  const working = agents.map(oneAgent);
  await sleep(WARM_UP_SECONDS * 1000);
  const cpuSince = countCpu(pid);
  await Promise.all(working);
  const server_cpu_seconds = cpuSince();
  const measured_seconds = (performance.now() - measured_from_ms) / 1000;
  await Promise.all(agents.map((agent) => agent.close()));
  const { claim, renew, submit } = took_ms;
  const measured: Measured = {
    seconds: measured_seconds,
    server_cpu_seconds,
    jobs: submit.length,
    requests: claim.length + renew.length + submit.length,
    operations: { take: timed(claim), renew: timed(renew), complete: timed(submit) },
  };
  return { measured, told };
}
