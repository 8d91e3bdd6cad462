import { join } from 'node:path';
import type { AuditOptions } from '../src/coordinator/audit/signer.js';
import { isProblem } from '../src/coordinator/index.js';
import { openAuditKey } from '../src/server/audit/audit-key.js';
import { openFileStore } from '../src/stores/file/file-store.js';
import { meterOperations } from './against/meter.js';
import { median, ratioOf, spreadText } from './against/statistics.js';
import { claim, submit } from './cycles.js';
import { type BenchHarness, harnessOn, newTempFolder } from './harness.js';
import { percentiles } from './load.js';
import { integerText, millisText, table } from './table.js';

const IN_FLIGHT = 1000;
const PROOFS = 200;

/** Measures what checkpoints add to the CPU time of the events that they cover, and how fast and small proofs are. */
export async function benchAudit(tasks: number, rounds: number): Promise<void> {
  const cpuUs: Record<'without' | 'with', number[]> = { without: [], with: [] };
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const);
    for (const variant of order) cpuUs[variant].push(await cpuUsPerEvent(tasks, variant === 'with'));
    process.stderr.write(
      `  round ${round + 1} of ${rounds}: ${cpuUs.without.at(-1)?.toFixed(1)} without, ${cpuUs.with.at(-1)?.toFixed(1)} with\n`,
    );
  }
  const { ratio, lowest, highest } = ratioOf(cpuUs.without, cpuUs.with);
  const rows = [
    ['CPU µs per event, no checkpoints', median(cpuUs.without).toFixed(1)],
    ['CPU µs per event, with checkpoints', median(cpuUs.with).toFixed(1)],
    ['median ratio of the rounds', `${ratio.toFixed(3)} (${spreadText(lowest, highest)})`],
    ...(await proofRows(tasks)),
  ];
  console.log(`\nCheckpoints of ${integerText(2 * tasks)} events, ${rounds} rounds in turn\n`);
  console.log(table(['what', 'measured'], rows));
}

async function openAudited(tasks: number, isAudited: boolean): Promise<BenchHarness> {
  const root = await newTempFolder();
  const store = await openFileStore({ root: join(root, 'log') });
  const audit: AuditOptions = { signer: (await openAuditKey(join(root, 'key.pem'))).signer };
  return harnessOn(store, root, 1, tasks, isAudited ? { audit } : {});
}

/** Returns the CPU time per event, in microseconds. */
async function claimAndSubmitAll(harness: BenchHarness, tasks: number): Promise<number> {
  const costs = [
    await meterOperations(tasks, IN_FLIGHT, (index) => claim(harness, index)),
    await meterOperations(tasks, IN_FLIGHT, (index) => submit(harness, index)),
  ];
  return costs.reduce((sum, { cpu_us }) => sum + cpu_us, 0) / costs.length;
}

async function cpuUsPerEvent(tasks: number, isAudited: boolean): Promise<number> {
  const harness = await openAudited(tasks, isAudited);
  try {
    // From the first checkpoint on, the tree is built from the leaves that the log hands over.
    await harness.coordinator.audit.checkpoint();
    return await claimAndSubmitAll(harness, tasks);
  } finally {
    await harness.close();
  }
}

async function proofRows(tasks: number): Promise<string[][]> {
  const harness = await openAudited(tasks, true);
  try {
    await claimAndSubmitAll(harness, tasks);
    await harness.coordinator.audit.stop();
    const { project } = harness.tasks[0]!;
    const head = await harness.coordinator.audit.lastCheckpoint(project);
    if (isProblem(head)) throw new Error(head.detail);
    const latenciesMs: number[] = [];
    let largestProofBytes = 0;
    for (let at = 0; at < PROOFS; at += 1) {
      const position = 1 + Math.floor((at * (head.position - 1)) / PROOFS);
      const startMs = performance.now();
      const proof = await harness.coordinator.audit.proof(project, position);
      latenciesMs.push(performance.now() - startMs);
      largestProofBytes = Math.max(largestProofBytes, JSON.stringify(proof).length);
    }
    const { p50_ms, p99_ms } = percentiles(Float64Array.from(latenciesMs));
    return [
      [
        `a proof among ${integerText(head.position)} events`,
        `p50 ${millisText(p50_ms)} ms, p99 ${millisText(p99_ms)} ms`,
      ],
      ['the largest proof', `${integerText(largestProofBytes)} bytes`],
    ];
  } finally {
    await harness.close();
  }
}
