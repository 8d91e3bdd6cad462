import { setTimeout as sleep } from 'node:timers/promises';
import { type RunMeasurement, summarizeLatencies } from '../measurement.js';
import { BenchAgent } from './agent.js';
import { countCpu } from './cpu.js';
import { FleetReplies } from './fleet-replies.js';
import { type LoadOptions, WARM_UP_SECONDS } from './paced.js';
import { type BenchTask, plannedTasks } from './plan.js';

/** More than the agents can finish in a second. */
const TASKS_PER_SECOND = 6_000;

/** Every agent claims and completes one task after another, as fast as it gets replies. */
export async function flatOut(options: LoadOptions) {
  const { url, tokens } = options;
  return runFlatOut(
    options,
    TASKS_PER_SECOND,
    (index, replies) => new BenchAgent(url, index, replies, false, tokens[index % tokens.length]),
  );
}

/** An agent that claims a task and submits its result. */
interface FlatOutAgent {
  readonly next: 'claim' | 'renew' | 'submit';
  claim(task: BenchTask): Promise<void>;
  submit(): Promise<void>;
  close(): Promise<void>;
}

export async function runFlatOut(
  { url, pid, agents: count, seconds, tokens }: LoadOptions,
  tasksPerSecond: number,
  newAgent: (index: number, replies: FleetReplies) => FlatOutAgent,
) {
  const taskCount = tasksPerSecond * (WARM_UP_SECONDS + seconds);
  const tasks = await plannedTasks(url, taskCount, 'project', tokens[0]);
  const replies = new FleetReplies();
  const agents = Array.from({ length: count }, (_, index) => newAgent(index, replies));
  const tookMs = { claim: [] as number[], submit: [] as number[] };
  let nextTask = 0;
  const measuredFromMs = performance.now() + WARM_UP_SECONDS * 1000;
  const untilMs = measuredFromMs + seconds * 1000;
  const oneAgent = async (agent: FlatOutAgent): Promise<void> => {
    while (performance.now() < untilMs && nextTask < tasks.length) {
      const startedMs = performance.now();
      await agent.claim(tasks[nextTask++]!);
      const takenMs = performance.now();
      if (startedMs >= measuredFromMs) tookMs.claim.push(takenMs - startedMs);
      if (agent.next === 'claim') continue;
      await agent.submit();
      if (takenMs >= measuredFromMs) tookMs.submit.push(performance.now() - takenMs);
    }
  };
  const working = agents.map(oneAgent);
  await sleep(WARM_UP_SECONDS * 1000);
  const cpuSince = countCpu(pid);
  await Promise.all(working);
  const measuredSeconds = (performance.now() - measuredFromMs) / 1000;
  await Promise.all(agents.map((agent) => agent.close()));
  const { claim, submit } = tookMs;
  const measured: RunMeasurement = {
    seconds: measuredSeconds,
    server_cpu_seconds: cpuSince(),
    jobs: submit.length,
    requests: claim.length + submit.length,
    operations: { take: summarizeLatencies(claim), complete: summarizeLatencies(submit) },
  };
  return { measured, replies };
}
