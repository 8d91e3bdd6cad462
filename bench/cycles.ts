import { type BenchHarness, type BenchStoreName, openHarness } from './harness.js';
import { type LoadResult, measure } from './load.js';
import { integerText, millisText, table } from './table.js';

const AGENTS = 1000;
const agentIds = (index: number) => ({
  agent_id: `agent-${index % AGENTS}`,
  session_id: `session-${index % AGENTS}`,
});

interface CycleSetting {
  readonly store: BenchStoreName;
  readonly projects: number;
  readonly in_flight: number;
  readonly tasks: number;
}

/** Measures claim, renew, submit, and a claim with its result. Every reply is checked, and durable on the file store. */
export async function benchCycles(isQuick: boolean): Promise<void> {
  const rows: string[][] = [];
  for (const store of ['memory', 'file'] as const) {
    for (const projects of [1, 100]) {
      for (const in_flight of [1, 64, 1000]) {
        const tasks = in_flight === 1 ? 4_000 : isQuick ? 20_000 : 100_000;
        for (const [name, measured] of await measureSetting({ store, projects, in_flight, tasks })) {
          rows.push([name, store, String(projects), String(in_flight), ...latencyCells(measured)]);
        }
        process.stderr.write(`  ${store}, ${projects} projects, ${in_flight} in flight: measured\n`);
      }
    }
  }
  console.log('\nCommands in process; replies of the file store are durable (one fdatasync per batch)\n');
  console.log(table(['operation', 'store', 'projects', 'in flight', 'per second', 'p50 ms', 'p99 ms'], rows));
}

export const latencyCells = (measured: LoadResult): string[] => [
  integerText(measured.per_second),
  millisText(measured.p50_ms),
  millisText(measured.p99_ms),
];

async function measureSetting({
  store,
  projects,
  in_flight,
  tasks,
}: CycleSetting): Promise<[string, LoadResult][]> {
  const harness = await openHarness(store, projects, Math.ceil((tasks * 2) / projects));
  try {
    const results: [string, LoadResult][] = [];
    results.push(['claim', await measure(tasks, in_flight, (index) => claim(harness, index))]);
    results.push(['renew', await measure(tasks, in_flight, (index) => renew(harness, index))]);
    results.push(['submit', await measure(tasks, in_flight, (index) => submit(harness, index))]);
    const claimAndSubmit = async (index: number) => {
      await claim(harness, tasks + index);
      await submit(harness, tasks + index);
    };
    results.push(['claim+submit', await measure(tasks, in_flight, claimAndSubmit)]);
    return results;
  } finally {
    await harness.close();
  }
}

export async function claim(
  { commands, tasks }: BenchHarness,
  index: number,
  agentIndex = index,
): Promise<void> {
  const { project, task_id } = tasks[index]!;
  const reply = await commands.claimTask(project, {
    task_id,
    ...agentIds(agentIndex),
    request_id: `claim-${index}`,
  });
  if (!('success' in reply) || !reply.success) throw new Error(JSON.stringify(reply));
}

export async function renew(
  { commands, tasks }: BenchHarness,
  index: number,
  agentIndex = index,
): Promise<void> {
  const { project, task_id } = tasks[index]!;
  const { session_id } = agentIds(agentIndex);
  const reply = await commands.renewLease(project, { task_id, session_id, expected_generation: 1 });
  if (!('success' in reply) || !reply.success) throw new Error(JSON.stringify(reply));
}

export async function submit(
  { commands, tasks }: BenchHarness,
  index: number,
  agentIndex = index,
): Promise<void> {
  const { project, task_id } = tasks[index]!;
  const { session_id } = agentIds(agentIndex);
  const result_data = { summary: 'done', index };
  const reply = await commands.submitResult(project, {
    task_id,
    session_id,
    generation: 1,
    result_data,
  });
  if (!('accepted' in reply) || !reply.accepted) throw new Error(JSON.stringify(reply));
}
