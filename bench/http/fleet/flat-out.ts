import { setTimeout as sleep } from 'node:timers/promises';
import { type Measured, timed } from '../measurement.js';
import { Agent } from './agent.js';
import { countCpu } from './cpu.js';
import { Told } from './fleet-replies.js';
import { type Pace, WARM_UP_SECONDS } from './paced.js';
import { plannedTasks } from './plan.js';

/** More than the agents can finish in a second. */
const TASKS_PER_SECOND = 4_000;

/** Every agent claims and completes one task after another, as fast as it gets replies. */
export async function flatOut({ url, pid, agents: count, seconds }: Pace) {
  const tasks = await plannedTasks(url, TASKS_PER_SECOND * (WARM_UP_SECONDS + seconds));
  const told = new Told();
  const agents = Array.from({ length: count }, (_, number) => new Agent(url, number, told, false));
  const took_ms = { claim: [] as number[], submit: [] as number[] };
  let next_task = 0;
  const measured_from_ms = performance.now() + WARM_UP_SECONDS * 1000;
  const until_ms = measured_from_ms + seconds * 1000;
  const oneAgent = async (agent: Agent): Promise<void> => {
    while (performance.now() < until_ms && next_task < tasks.length) {
      const asked_ms = performance.now();
      await agent.claim(tasks[next_task++]!);
      const taken_ms = performance.now();
      if (asked_ms >= measured_from_ms) took_ms.claim.push(taken_ms - asked_ms);
      if (agent.next === 'claim') continue;
      await agent.submit();
      if (taken_ms >= measured_from_ms) took_ms.submit.push(performance.now() - taken_ms);
    }
  };
  const working = agents.map(oneAgent);
  await sleep(WARM_UP_SECONDS * 1000);
  const cpuSince = countCpu(pid);
  await Promise.all(working);
  const measured_seconds = (performance.now() - measured_from_ms) / 1000;
  await Promise.all(agents.map((agent) => agent.close()));
  const { claim, submit } = took_ms;
  const measured: Measured = {
    seconds: measured_seconds,
    server_cpu_seconds: cpuSince(),
    jobs: submit.length,
    requests: claim.length + submit.length,
    operations: { take: timed(claim), complete: timed(submit) },
  };
  return { measured, told };
}
