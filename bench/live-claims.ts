import { openHarness } from './harness.js';
import { measure } from './load.js';
import { integerText, table } from './table.js';

/** Claims per second while the tenant has ten live claims, and then while it has ten thousand. */
export async function benchLiveClaims(): Promise<void> {
  const rounds = 5;
  const probes = 2_000;
  const rows: string[][] = [];
  for (const live of [10, 10_000]) {
    const harness = await openHarness('file', 1, live + rounds * probes);
    try {
      const claim = async (index: number) => {
        const { project, task_id } = harness.tasks[index]!;
        const identity = { agent_id: 'agent', session_id: `session-${index % 100}` };
        const reply = await harness.coordinator.claims.claimTask(project, { task_id, ...identity });
        if (!('success' in reply) || !reply.success) throw new Error(JSON.stringify(reply));
      };
      const release = async (index: number) => {
        const { project, task_id } = harness.tasks[index]!;
        const handle = { task_id, session_id: `session-${index % 100}`, expected_generation: 1 };
        await harness.coordinator.holder.releaseClaim(project, handle);
      };
      await measure(live, 1000, claim);
      const rates: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const from = live + round * probes;
        rates.push((await measure(probes, 64, (index) => claim(from + index))).per_second);
        await measure(probes, 64, (index) => release(from + index));
      }
      rates.sort((a, b) => a - b);
      rows.push([integerText(live), integerText(rates[Math.floor(rounds / 2)] ?? 0)]);
    } finally {
      await harness.close();
    }
  }
  console.log('\nClaims per second by live claims of the tenant (file, 64 in flight, median of 5)\n');
  console.log(table(['live claims', 'claims/s'], rows));
}
