import pg from 'pg';
import type { NewEvent } from '../src/core/events/envelope.js';
import { databaseOf } from '../src/stores/databases.js';
import { blockNames } from '../src/stores/postgres/event-names.js';
import { startOwnPostgres } from '../src/stores/postgres/testing.js';
import { median } from './against/statistics.js';
import { childrenOf, startUsageMeter } from './process-usage.js';
import { integerText, table } from './table.js';

const NAMESPACE = 'genesis_fleet';
const ROUNDS = 7;
const BATCHES = 200;
/** Events per statement, as many as a batch of commands writes. */
const BATCH_EVENTS = 256;
const EVENT_TYPES = ['TASK_CLAIMED', 'LEASE_RENEWED', 'RESULT_ACCEPTED'];
const NO_INDEX = 'none';

/** The cost of an event in a table with one index. */
interface EventCost {
  readonly cpu_us: number;
  readonly written_bytes: number;
}

/**
 * The price of each index of the events on PostgreSQL. Events are written in turn to copies of the table, each with one
 * index only. Every field of the events is set, so that each index contains all events. The price of the index of names
 * includes its rows.
 */
export async function benchIndexes(): Promise<void> {
  const earlierPids = childrenOf(process.pid);
  const testDatabase = await startOwnPostgres();
  if ('missing' in testDatabase) return console.log(`not run: ${testDatabase.missing}`);
  const pids = childrenOf(process.pid).filter((pid) => !earlierPids.includes(pid));
  const migrator = await (await databaseOf(testDatabase.url))!.migrator(testDatabase.url);
  await migrator.up();
  await migrator.close();
  const client = new pg.Client(testDatabase.url);
  await client.connect();
  const definitions = new Map([[NO_INDEX, ''], ...(await indexDefinitions(client))]);
  const costs = new Map([...definitions.keys()].map((name) => [name, [] as EventCost[]]));
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const [name, definition] of definitions)
      costs.get(name)?.push(await measureEvents(client, pids, definition));
    process.stderr.write(`  round ${round} of ${ROUNDS}\n`);
  }
  await client.end();
  await testDatabase.stop();
  console.log(
    `\nPostgreSQL, per event; the price of each index is in addition to the row: ${ROUNDS} rounds\n`,
  );
  console.log(table(['index', 'CPU µs', 'lowest', 'highest', 'written bytes'], priceRows(costs)));
}

/** The names and the SQL of the indexes. */
async function indexDefinitions(client: pg.Client): Promise<[string, string][]> {
  const { rows } = await client.query<{ indexname: string; indexdef: string }>(
    `SELECT indexname, indexdef FROM pg_indexes
     WHERE schemaname = $1 AND tablename IN ('event', 'event_names') ORDER BY tablename, indexname`,
    [NAMESPACE],
  );
  return rows.map(({ indexname, indexdef }) => [indexname, indexdef]);
}

async function measureEvents(
  client: pg.Client,
  pids: readonly number[],
  definition: string,
): Promise<EventCost> {
  const isNameIndex = / ON \S+\.event_names /.test(definition);
  await client.query(`CREATE TABLE ${NAMESPACE}.copy (LIKE ${NAMESPACE}.event)`);
  await client.query(`CREATE TABLE ${NAMESPACE}.names_copy (LIKE ${NAMESPACE}.event_names)`);
  if (definition !== '') {
    const copy = `${NAMESPACE}.${isNameIndex ? 'names_copy' : 'copy'}`;
    await client.query(definition.replace(/INDEX \S+ ON \S+/, `INDEX copy_index ON ${copy}`));
  }
  await client.query('CHECKPOINT');
  const usageSince = startUsageMeter(pids);
  for (let batch = 0; batch < BATCHES; batch += 1) {
    await writeEvents(client, batch * BATCH_EVENTS);
    if (isNameIndex) await writeNames(client, batch * BATCH_EVENTS);
  }
  const usage = usageSince();
  await client.query(`DROP TABLE ${NAMESPACE}.copy, ${NAMESPACE}.names_copy`);
  const events = BATCHES * BATCH_EVENTS;
  return {
    cpu_us: ((usage?.cpu_seconds ?? Number.NaN) * 1e6) / events,
    written_bytes: (usage?.written_bytes ?? Number.NaN) / events,
  };
}

/** Writes events of a thousand agents, each event about its own task. */
const writeEvents = (client: pg.Client, after: number) =>
  client.query(
    `INSERT INTO ${NAMESPACE}.copy (project_no, task_is_subject, position, at_ms, event_type, subject, task_id, feature_id,
       edge, agent_id, session_id, body)
     SELECT 1, false, n, 1700000000000 + n, ($2::text[])[1 + n % 3],
       'task-' || n, 'task-' || n, 'feature-' || n % 250, 'edge-' || n % 12, 'agent-' || n * 7 % 1000,
       'session-' || n * 7 % 1000, repeat('x', 400)
     FROM generate_series($1::int + 1, $1::int + ${BATCH_EVENTS}) AS n`,
    [after, EVENT_TYPES],
  );

/** Writes the names of these events, as a commit passes them. */
function writeNames(client: pg.Client, after: number) {
  const events = Array.from({ length: BATCH_EVENTS }, (_, index) => {
    const n = after + index + 1;
    return {
      event_type: EVENT_TYPES[n % EVENT_TYPES.length],
      feature_id: `feature-${n % 250}`,
      edge: `edge-${n % 12}`,
      agent_id: `agent-${(n * 7) % 1000}`,
      session_id: `session-${(n * 7) % 1000}`,
    } as NewEvent;
  });
  const { blocks, fields, names } = blockNames(events);
  return client.query({
    name: 'names',
    text: `INSERT INTO ${NAMESPACE}.names_copy (project_no, first_position, last_position, keys)
     SELECT 1, k.block, k.block + 63, array_agg(hashtextextended(k.name COLLATE "C", k.field))
     FROM (SELECT $1::int + 64 * unnest($2::int[]) AS block, unnest($3::int[]) AS field,
                  unnest(string_to_array($4, E'\n')) AS name) AS k
     GROUP BY k.block`,
    values: [after + 1, blocks, fields, names.join('\n')],
  });
}

function priceRows(costs: ReadonlyMap<string, readonly EventCost[]>): string[][] {
  const base = costs.get(NO_INDEX) ?? [];
  return [...costs].map(([name, rounds]) => {
    const priceOf = (field: keyof EventCost): number[] =>
      rounds.map((cost, round) => cost[field] - (name === NO_INDEX ? 0 : (base[round]?.[field] ?? 0)));
    const cpu = priceOf('cpu_us');
    const decimalText = (value: number): string => value.toFixed(1);
    const label = name === NO_INDEX ? 'none, the row alone' : name;
    return [
      label,
      decimalText(median(cpu)),
      decimalText(Math.min(...cpu)),
      decimalText(Math.max(...cpu)),
      integerText(median(priceOf('written_bytes'))),
    ];
  });
}
