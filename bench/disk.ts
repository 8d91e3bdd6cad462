import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newTempFolder } from './harness.js';
import { percentiles } from './load.js';
import { integerText, millisText, table } from './table.js';

const LINE_BYTES = 700;

/** Measures bare append and fdatasync on this disk: the upper bound for the figures of the file store. */
export async function benchDisk(): Promise<void> {
  const root = await newTempFolder();
  const rows: string[][] = [];
  try {
    for (const lines of [1, 64, 1000]) rows.push(await appendAndSync(root, lines));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  console.log(`\nRaw disk: append lines of ${LINE_BYTES} bytes, fdatasync, repeat\n`);
  console.log(table(['lines per batch', 'syncs/s', 'lines/s', 'p50 ms', 'p99 ms'], rows));
}

async function appendAndSync(root: string, lines: number): Promise<string[]> {
  const file = await open(join(root, `append-${lines}`), 'a');
  const batch = Buffer.alloc(lines * LINE_BYTES, 'x');
  const rounds = lines === 1000 ? 300 : 2000;
  const latenciesMs = new Float64Array(rounds);
  const startMs = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    const writeStartMs = performance.now();
    await file.write(batch);
    await file.datasync();
    latenciesMs[round] = performance.now() - writeStartMs;
  }
  const seconds = (performance.now() - startMs) / 1000;
  await file.close();
  const { p50_ms, p99_ms } = percentiles(latenciesMs);
  return [
    String(lines),
    integerText(rounds / seconds),
    integerText((rounds * lines) / seconds),
    millisText(p50_ms),
    millisText(p99_ms),
  ];
}
