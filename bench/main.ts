import { cpus } from 'node:os';
import { benchAgainst } from './against/against.js';
import { benchDatabasesAgainst } from './against/databases-against.js';
import { benchRestartAgainst } from './against/restart-against.js';
import { benchStatusAgainst } from './against/status-against.js';
import { benchAudit } from './audit.js';
import { benchCapacity } from './capacity.js';
import { benchCycles } from './cycles.js';
import { benchDatabases } from './databases.js';
import { benchDisk } from './disk.js';
import { benchFormats } from './formats.js';
import { benchHeads } from './heads.js';
import { benchInbox } from './inbox.js';
import { benchIndexes } from './indexes.js';
import { benchIterate } from './iterate.js';
import { benchLiveClaims } from './live-claims.js';
import { benchMethodology } from './methodology.js';
import { benchMillion } from './million.js';
import { benchOutage } from './outage.js';
import { benchReaders } from './readers.js';
import { benchStages } from './stages.js';

/**
 * Runs benchmarks and prints the results; asserts nothing about time.
 *
 * - `npm run bench [-- --quick] [-- --tasks N]
 *   [-- --only cycles|disk|stages|live-claims|million|methodology|inbox|iterate|formats|readers|audit]`; `--rounds N` with `audit`
 * - `npm run bench -- --stores all|postgres,mysql,redis,dynamodb`: the databases alone
 * - `npm run bench -- --heads all|postgres,mysql,redis`: cost of a claim in a project of a million heads
 * - `npm run bench -- --indexes`: price of each index of the events on PostgreSQL
 * - `npm run bench -- --capacity`: items and capacity units of a command on DynamoDB
 * - `npm run bench -- --against REF [--only cycles|projects|restart|status] [--rounds 7] [--tasks N]`: this version beside
 *   another, in turn
 * - `npm run bench -- --stores all|postgres,mysql,redis --against REF [--only cycles|projects] [--rounds 7]`: the same
 *   on databases, with the CPU time of the database
 * - `npm run bench -- --outage all|postgres,mysql,redis,dynamodb`: cost of a stopped database to an idle server
 */
const isQuick = process.argv.includes('--quick');
const tasksIndex = process.argv.indexOf('--tasks');
const tasks = tasksIndex > 0 ? Number(process.argv[tasksIndex + 1]) : isQuick ? 50_000 : 1_000_000;
const onlyOption = process.argv[process.argv.indexOf('--only') + 1];
const parts: Record<string, () => Promise<void>> = {
  disk: benchDisk,
  stages: benchStages,
  cycles: () => benchCycles(isQuick),
  'live-claims': benchLiveClaims,
  million: () => benchMillion(tasks),
  methodology: benchMethodology,
  inbox: () => benchInbox(isQuick ? 5 : 25),
  iterate: benchIterate,
  formats: benchFormats,
  readers: benchReaders,
  audit: () =>
    benchAudit(tasksIndex > 0 ? tasks : isQuick ? 20_000 : 100_000, Number(optionValue('--rounds') ?? 7)),
};

console.log(`Node ${process.version}, ${cpus().length} cores: ${cpus()[0]?.model ?? 'unknown'}`);
const optionValue = (option: string): string | null => {
  const index = process.argv.indexOf(option);
  return index < 0 ? null : (process.argv[index + 1] ?? null);
};
const [storesOption, headsOption, outageOption] = [
  optionValue('--stores'),
  optionValue('--heads'),
  optionValue('--outage'),
];
const refOption = optionValue('--against');
if (refOption !== null) {
  const isChosen = (name: string): boolean => onlyOption === name || !process.argv.includes('--only');
  const workloads = (['cycles', 'projects'] as const).filter(isChosen);
  const rounds = Number(optionValue('--rounds') ?? 7);
  if (storesOption !== null) await benchDatabasesAgainst(refOption, storesOption, workloads, rounds, isQuick);
  else {
    await benchAgainst(refOption, workloads, rounds);
    if (isChosen('restart')) await benchRestartAgainst(refOption, tasks, rounds);
    if (isChosen('status')) await benchStatusAgainst(refOption, rounds);
  }
}
if (storesOption !== null && refOption === null) await benchDatabases(storesOption, isQuick);
if (headsOption !== null) await benchHeads(headsOption);
if (outageOption !== null) await benchOutage(outageOption);
const hasCapacityOption = process.argv.includes('--capacity');
if (hasCapacityOption) await benchCapacity();
const hasIndexesOption = process.argv.includes('--indexes');
if (hasIndexesOption) await benchIndexes();
const hasExclusiveOption =
  hasCapacityOption ||
  hasIndexesOption ||
  [storesOption, headsOption, outageOption, refOption].some((value) => value !== null);
for (const [name, run] of hasExclusiveOption ? [] : Object.entries(parts)) {
  if (process.argv.includes('--only') && onlyOption !== name) continue;
  await run();
}
