import { cpus, loadavg } from 'node:os';
import { table } from '../table.js';
import { compare } from './compare.js';
import { readOptions } from './options.js';
import { cellsOf, PART_ROWS, type PartRow, TABLE_HEAD } from './rows.js';

/** Prints the measurements. Fails only if the log and the replies that the agents received disagree. */
const options = readOptions(process.argv.slice(2));
const load = (): string => (loadavg()[0] ?? 0).toFixed(1);

console.log(
  `Node ${process.version}, ${cpus().length} cores: ${cpus()[0]?.model ?? 'unknown'}; load before ${load()}`,
);
const faults: string[] =
  options.against === null ? await measureOnce() : await compare({ ...options, against: options.against });
if (options.parts.some((part) => part === 'paced' || part === 'flat-out' || part === 'batched')) {
  const verdict = faults.length === 0 ? 'they agree' : `${faults.length} faults`;
  console.log(`\nReplies to the agents compared with the log: ${verdict}.`);
}
for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;

async function measureOnce(): Promise<string[]> {
  const rows: PartRow[] = [];
  const faults: string[] = [];
  const remarks: string[] = [];
  for (const part of options.parts) {
    process.stderr.write(`  ${part} …\n`);
    const shown = await PART_ROWS[part](options);
    rows.push(...shown.rows);
    remarks.push(...(shown.remarks ?? []));
    faults.push(...shown.faults.map((fault) => `${part}: ${fault}`));
  }
  console.log(
    `\nClaiming and completing work: milliseconds from the scheduled time of each request\n\n${table(TABLE_HEAD, rows.map(cellsOf))}`,
  );
  if (remarks.length > 0) console.log(`\n${remarks.join('\n')}`);
  return faults;
}
