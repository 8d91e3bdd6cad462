import { cpus, loadavg } from 'node:os';
import { table } from '../table.js';
import { readOptions } from './options.js';
import { PART_ROWS, TABLE_HEAD } from './rows.js';

/** Prints the measurements. Fails only if the log and the replies that the agents received disagree. */
const options = readOptions(process.argv.slice(2));
const load = (): string => (loadavg()[0] ?? 0).toFixed(1);

console.log(
  `Node ${process.version}, ${cpus().length} cores: ${cpus()[0]?.model ?? 'unknown'}; load before ${load()}`,
);
const rows: (readonly string[])[] = [];
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
  `\nTaking and completing work, milliseconds from when a request was due\n\n${table(TABLE_HEAD, rows)}`,
);
if (remarks.length > 0) console.log(`\n${remarks.join('\n')}`);
if (options.parts.some((part) => part === 'paced' || part === 'flat-out' || part === 'batched')) {
  const verdict = faults.length === 0 ? 'they agree' : `${faults.length} faults`;
  console.log(`\nWhat the agents were told against what the log says: ${verdict}.`);
}
for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
