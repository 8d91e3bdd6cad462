import { setTimeout as sleep } from 'node:timers/promises';
import { type RunMeasurement, summarizeLatencies } from '../measurement.js';
import { BenchAgent } from './agent.js';
import { startCpuMeter } from './cpu.js';
import { FleetReplies } from './fleet-replies.js';
import { type LoadOptions, WARM_UP_SECONDS } from './paced.js';
import { uploadPlans } from './plan.js';

/** More tasks than the agents can finish in a second. */
const TASKS_PER_SECOND = 6_000;

/** Every agent claims and completes one task after another, as fast as it gets replies. */
export async function measureFlatOut(options: LoadOptions) {
  const { url, tokens } = options;
  const tasks = await uploadPlans(url, tasksFor(options, TASKS_PER_SECOND), 'project', tokens[0]);
  const replies = new FleetReplies();
  const agents = Array.from(
    { length: options.agents },
    (_, index) => new BenchAgent(url, index, replies, false, tokens[index % tokens.length]),
  );
  return { measured: await runFlatOut(options, tasks, agents), replies };
}

export const tasksFor = ({ seconds }: LoadOptions, tasksPerSecond: number): number =>
  tasksPerSecond * (WARM_UP_SECONDS + seconds);

/** An agent that claims work, a task or a batch of them, and submits the results. */
export interface FlatOutAgent<Work> {
  readonly nextOperation: 'claim' | 'renew' | 'submit';
  claim(work: Work): Promise<void>;
  submit(): Promise<void>;
  close(): Promise<void>;
}

export async function runFlatOut<Work>(
  { pid, database_pid, seconds }: LoadOptions,
  work: readonly Work[],
  agents: readonly FlatOutAgent<Work>[],
  tasksPerWork = 1,
): Promise<RunMeasurement> {
  const latenciesMs = { claim: [] as number[], submit: [] as number[] };
  let nextWork = 0;
  const measuredFromMs = performance.now() + WARM_UP_SECONDS * 1000;
  const untilMs = measuredFromMs + seconds * 1000;
  const runAgent = async (agent: FlatOutAgent<Work>): Promise<void> => {
    while (performance.now() < untilMs && nextWork < work.length) {
      const startMs = performance.now();
      await agent.claim(work[nextWork++]!);
      const claimedAtMs = performance.now();
      if (startMs >= measuredFromMs) latenciesMs.claim.push(claimedAtMs - startMs);
      if (agent.nextOperation === 'claim') continue;
      await agent.submit();
      if (claimedAtMs >= measuredFromMs) latenciesMs.submit.push(performance.now() - claimedAtMs);
    }
  };
  const working = agents.map(runAgent);
  await sleep(WARM_UP_SECONDS * 1000);
  const cpuSince = startCpuMeter(pid);
  const databaseCpuSince = database_pid === undefined ? () => null : startCpuMeter(database_pid);
  await Promise.all(working);
  const [server_cpu_seconds, database_cpu_seconds] = [cpuSince(), databaseCpuSince()];
  const measuredSeconds = (performance.now() - measuredFromMs) / 1000;
  await Promise.all(agents.map((agent) => agent.close()));
  const { claim, submit } = latenciesMs;
  return {
    seconds: measuredSeconds,
    server_cpu_seconds,
    database_cpu_seconds,
    jobs: submit.length * tasksPerWork,
    requests: claim.length + submit.length,
    latencies: { claim: summarizeLatencies(claim), complete: summarizeLatencies(submit) },
  };
}
