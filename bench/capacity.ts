import { openDynamodbMigrator, openDynamodbStore } from '../src/stores/dynamodb/dynamodb-store.js';
import { CapacityMeter, type CapacityUse } from '../src/stores/dynamodb/testing/capacity-meter.js';
import { startDynamodbProxy } from '../src/stores/dynamodb/testing/proxy.js';
import { optionsWithLongTimeouts, startDynamodb } from '../src/stores/dynamodb/testing.js';
import { claim, renew, submit } from './cycles.js';
import { type BenchHarness, harnessOn, newTempFolder } from './harness.js';
import { measure } from './load.js';
import { table } from './table.js';

/** Commands in flight. Of 40, half wait while the others are committed, and are then committed together. */
const IN_FLIGHT = [1, 40] as const;
/** Enough for one bucket of events, so that indexing it is measured with every operation. */
const COMMANDS = 1024;
/** Before the measurement, each agent claims one task, which opens its session. */
const AGENTS = 100;
type CommandRun = (harness: BenchHarness, index: number) => Promise<void>;
const agentIndexOf = (index: number) => index % AGENTS;
const OPERATIONS: Readonly<Record<string, CommandRun>> = {
  claim: (harness, index) => claim(harness, index, agentIndexOf(index)),
  renew: (harness, index) => renew(harness, index, agentIndexOf(index)),
  submit: (harness, index) => submit(harness, index, agentIndexOf(index)),
};

/**
 * Items and capacity units that a claim, a renewal and a submission cost on DynamoDB, as the DynamoDB-compatible server
 * reports them; the units include indexes.
 */
export async function benchCapacity(): Promise<void> {
  const database = await startDynamodb();
  if ('missing' in database) return console.log(`not run: ${database.missing}`);
  const options = optionsWithLongTimeouts(database.url);
  const migrator = await openDynamodbMigrator(options);
  await migrator.up();
  await migrator.close();
  const proxy = await startDynamodbProxy(options);
  const meter = new CapacityMeter(proxy);
  const rows: string[][] = [];
  for (const inFlight of IN_FLIGHT) {
    const store = await openDynamodbStore(proxy.options);
    const tenant_id = `t${inFlight}`;
    const harness = await harnessOn(store, await newTempFolder(), 1, AGENTS + COMMANDS, { tenant_id });
    await measure(AGENTS, 1, (index) => claim(harness, index, agentIndexOf(index)));
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      meter.reset();
      await measure(COMMANDS, inFlight, (index) => operation(harness, AGENTS + index));
      rows.push([name, ...costCells(meter.use)]);
    }
    await harness.close();
  }
  await proxy.close();
  await database.stop();
  console.log('\nDynamoDB, per command: items and capacity units, including indexes\n');
  console.log(
    table(
      ['command', 'commands per transaction', 'transaction items', 'other items', 'WCU', 'items read', 'RCU'],
      rows,
    ),
  );
}

const costCells = (use: CapacityUse): string[] => [
  (COMMANDS / use.transactions).toFixed(1),
  ...[use.transaction_items, use.other_items, use.write_units, use.items_read, use.read_units].map((sum) =>
    (sum / COMMANDS).toFixed(2),
  ),
];
