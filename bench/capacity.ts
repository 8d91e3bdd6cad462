import { openDynamodbMigrator, openDynamodbStore } from '../src/stores/dynamodb/dynamodb-store.js';
import { CapacityMeter, type CapacityUse } from '../src/stores/dynamodb/testing/capacity-meter.js';
import { startProxy } from '../src/stores/dynamodb/testing/proxy.js';
import { optionsWithLongTimeouts, startDynamodb } from '../src/stores/dynamodb/testing.js';
import { AGENTS, claim, renew, submit } from './cycles.js';
import { type BenchHarness, harnessOn, newTempFolder } from './harness.js';
import { measure } from './load.js';
import { table } from './table.js';

/** Commands in flight: half of them wait while the others are committed. */
const IN_FLIGHT = [1, 40] as const;
const COMMANDS = 300;
/** The first commands are not measured: they reserve permits. */
const WARM_UP = 20;
type Operation = (harness: BenchHarness, index: number) => Promise<void>;
const OPERATIONS: readonly (readonly [name: string, operation: Operation])[] = [
  ['claim that opens a session', claim],
  ['claim', (harness, index) => claim(harness, AGENTS + index)],
  ['renew', renew],
  ['submit', submit],
];

/**
 * Items and capacity units that a claim, a renewal and a submission cost on DynamoDB, as the DynamoDB-compatible server
 * reports them; the units include those of secondary indexes.
 */
export async function benchCapacity(): Promise<void> {
  const engine = await startDynamodb();
  if ('missing' in engine) return console.log(`not run: ${engine.missing}`);
  const options = optionsWithLongTimeouts(engine.url);
  const migrator = await openDynamodbMigrator(options);
  await migrator.up();
  await migrator.close();
  const proxy = await startProxy(options);
  const meter = new CapacityMeter(proxy);
  const rows: string[][] = [];
  for (const inFlight of IN_FLIGHT) {
    const store = await openDynamodbStore(proxy.options);
    const tenant_id = `t${inFlight}`;
    const tasks = AGENTS + WARM_UP + COMMANDS;
    const harness = await harnessOn(store, await newTempFolder(), 1, tasks, { tenant_id });
    for (const [name, operation] of OPERATIONS) {
      rows.push([name, ...cells(await useOfCommands(harness, meter, operation, inFlight))]);
    }
    await harness.close();
  }
  await proxy.close();
  await engine.stop();
  console.log('\nDynamoDB, per command: items and capacity units, with secondary indexes\n');
  console.log(table(['command', 'per transaction', 'items written', 'WCU', 'items read', 'RCU'], rows));
}

async function useOfCommands(
  harness: BenchHarness,
  meter: CapacityMeter,
  operation: Operation,
  inFlight: number,
): Promise<CapacityUse> {
  await measure(WARM_UP, 1, (index) => operation(harness, index));
  meter.reset();
  await measure(COMMANDS, inFlight, (index) => operation(harness, WARM_UP + index));
  return meter.use;
}

const cells = (use: CapacityUse): string[] => [
  (COMMANDS / use.transactions).toFixed(1),
  ...[use.items_written, use.write_units, use.items_read, use.read_units].map((sum) =>
    (sum / COMMANDS).toFixed(2),
  ),
];
