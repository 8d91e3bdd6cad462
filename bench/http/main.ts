import { cpus, loadavg } from 'node:os';
import { table } from '../table.js';
import { compare } from './compare.js';
import { guaranteesTable } from './guarantees.js';
import { isQueue, readOptions } from './options.js';
import type { PartRow } from './part-report.js';
import { peersTable } from './peers.js';
import { cellsOf, TABLE_HEAD } from './row-cells.js';
import { PART_ROWS } from './rows.js';
import { type Series, SeriesList } from './series.js';

/** Prints the measurements. No figure makes it fail, only a log with faults or one that contradicts the agents' replies. */
const options = readOptions(process.argv.slice(2));
const loadAverage = (): string => (loadavg()[0] ?? 0).toFixed(1);

console.log(
  `Node ${process.version}, ${cpus().length} cores: ${cpus()[0]?.model ?? 'unknown'}; load before ${loadAverage()}`,
);
const { series, faults } =
  options.rounds === null ? await measureOnce() : await compare(options, options.rounds);
printPeers(series);
if (options.parts.some((part) => !isQueue(part))) {
  const verdict = faults.length === 0 ? 'they agree' : `${faults.length} faults`;
  console.log(`\nReplies to the agents compared with the log: ${verdict}.`);
}
for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;

async function measureOnce(): Promise<{ series: readonly Series[]; faults: readonly string[] }> {
  const rows: PartRow[] = [];
  const faults: string[] = [];
  const remarks: string[] = [];
  for (const part of options.parts) {
    process.stderr.write(`  ${part} …\n`);
    const report = await PART_ROWS[part](options);
    rows.push(...report.rows);
    remarks.push(...(report.remarks ?? []));
    faults.push(...report.faults.map((fault) => `${part}: ${fault}`));
  }
  console.log(
    `\nClaiming and completing work: milliseconds from when each request was due (paced) or sent\n\n${table(TABLE_HEAD, rows.map(cellsOf))}`,
  );
  if (remarks.length > 0) console.log(`\n${remarks.join('\n')}`);
  const series = new SeriesList();
  for (const row of rows) series.add(row);
  return { series: series.all, faults };
}

function printPeers(series: readonly Series[]): void {
  const ratios = peersTable(series);
  if (ratios !== null)
    console.log(
      `\nOurs beside job queues on the same database; a job is a claim and its result\n\n${ratios}`,
    );
  if (options.parts.some(isQueue))
    console.log(`\nWhat each of them guarantees, or offers\n\n${guaranteesTable()}`);
}
