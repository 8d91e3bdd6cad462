import { type Measured, timed } from '../measured.js';
import { Agent } from './agent.js';
import { countCpu } from './cpu.js';
import type { Pace } from './paced.js';
import { plannedTasks } from './plan.js';
import { Told } from './told.js';

/** More than the agents can finish in a second. */
const TASKS_PER_SECOND = 4_000;

/** Every agent takes and completes one piece of work after another, as fast as it is answered. */
export async function flatOut({ url, pid, agents: count, seconds }: Pace) {
  const tasks = await plannedTasks(url, TASKS_PER_SECOND * seconds);
  const told = new Told();
  const agents = Array.from({ length: count }, (_, number) => new Agent(url, number, told, false));
  const took_ms = { claim: [] as number[], submit: [] as number[] };
  let next_task = 0;
  const cpuSince = countCpu(pid);
  const began_ms = performance.now();
  const oneAgent = async (agent: Agent): Promise<void> => {
    while (performance.now() < began_ms + seconds * 1000 && next_task < tasks.length) {
      const asked_ms = performance.now();
      await agent.claim(tasks[next_task++]!);
      const taken_ms = performance.now();
      took_ms.claim.push(taken_ms - asked_ms);
      if (agent.next === 'claim') continue;
      await agent.submit();
      took_ms.submit.push(performance.now() - taken_ms);
    }
  };
  await Promise.all(agents.map(oneAgent));
  const measured_seconds = (performance.now() - began_ms) / 1000;
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
