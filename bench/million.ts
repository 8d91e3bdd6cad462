import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BenchHarness, newTempFolder, openHarness } from './harness.js';
import { measure, percentiles } from './load.js';
import { integerText, millisText, table } from './table.js';

const GENERATIONS = 100;

/**
 * Measures a log of many completed tasks, a million by default: how fast it opens with and without its snapshot, how much
 * memory it needs, and how fast the history of a task with a hundred generations is read.
 */
export async function benchMillion(tasks: number): Promise<void> {
  const harness = await openHarness('file', 1, tasks);
  const rows: string[][] = [];
  try {
    await completeTasks(harness, tasks);
    global.gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    rows.push([
      `memory with ${integerText(tasks)} completed tasks`,
      `${integerText((heapUsed + external) / 2 ** 20)} MiB used, ${integerText(rss / 2 ** 20)} MiB resident`,
    ]);
    rows.push(['a history of 100 generations', await measureHistories(harness)]);
    const { project } = harness.tasks[0]!;
    const { position = 0 } = (await harness.store.project(project)) ?? {};
    harness.coordinator.close();
    const closeMs = await elapsedMs(() => harness.store.close());
    rows.push([`close, with a snapshot of ${integerText(position)} events`, `${millisText(closeMs)} ms`]);
    rows.push(['open from the snapshot', `${millisText(await measureReopening(harness))} ms`]);
    rows.push([
      'open without any snapshot',
      `${millisText(await measureReopeningWithoutSnapshot(harness))} ms`,
    ]);
  } finally {
    await rm(harness.root, { recursive: true, force: true });
  }
  console.log('\nA long log\n');
  console.log(table(['what', 'measured'], rows));
}

/** Claims and completes every task except the first, which goes through a hundred generations. */
async function completeTasks({ coordinator, tasks }: BenchHarness, count: number): Promise<void> {
  await measure(count - 1, 1000, async (index) => {
    const { project, task_id } = tasks[index + 1]!;
    const session_id = `session-${index % 500}`;
    await coordinator.claims.claimTask(project, { task_id, agent_id: `agent-${index % 500}`, session_id });
    const result_data = { index };
    const reply = await coordinator.holder.submitResult(project, {
      task_id,
      session_id,
      generation: 1,
      result_data,
    });
    if (!('accepted' in reply) || !reply.accepted) throw new Error(JSON.stringify(reply));
    if (index % 100_000 === 0)
      process.stderr.write(`  ${integerText(index)} of ${integerText(count)} tasks done\n`);
  });
  const { project, task_id } = tasks[0]!;
  for (let generation = 1; generation <= GENERATIONS; generation += 1) {
    await coordinator.claims.claimTask(project, { task_id, agent_id: 'agent', session_id: 'session' });
    await coordinator.holder.releaseClaim(project, {
      task_id,
      session_id: 'session',
      expected_generation: generation,
    });
  }
}

async function measureHistories({ coordinator, tasks }: BenchHarness): Promise<string> {
  const { project, task_id } = tasks[0]!;
  const latenciesMs = new Float64Array(200);
  for (let round = 0; round < latenciesMs.length; round += 1) {
    const startMs = performance.now();
    const reply = await coordinator.queries.getClaimHistory(project, task_id);
    latenciesMs[round] = performance.now() - startMs;
    if (!('generations' in reply) || reply.generations.length !== GENERATIONS)
      throw new Error(JSON.stringify(reply));
  }
  const { p50_ms, p99_ms } = percentiles(latenciesMs);
  return `p50 ${millisText(p50_ms)} ms, p99 ${millisText(p99_ms)} ms`;
}

async function elapsedMs(action: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await action();
  return performance.now() - startMs;
}

/** Time from opening the store to the first answered query, in its own process. */
async function measureReopening({ root, tasks }: Pick<BenchHarness, 'root' | 'tasks'>): Promise<number> {
  const { project, task_id } = tasks[0]!;
  const script = ['--max-semi-space-size=64', '--import', 'tsx', 'bench/reopen.ts'];
  const args = [...script, root, project.tenant_id, project.project_id, task_id];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return Number(stdout);
}

async function measureReopeningWithoutSnapshot(harness: BenchHarness): Promise<number> {
  const root = await newTempFolder();
  try {
    await cp(harness.root, root, { recursive: true });
    const { tenant_id, project_id } = harness.tasks[0]!.project;
    await rm(join(root, tenant_id, project_id, 'snapshots'), { recursive: true, force: true });
    return await measureReopening({ ...harness, root });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
