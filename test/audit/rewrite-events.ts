import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { DynamoDBClient, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import pg from 'pg';
import { createClient } from 'redis';
import { parseDynamodbUrl } from '../../src/stores/dynamodb/options.js';
import { tablesOf } from '../../src/stores/dynamodb/schema.js';
import { parseMysqlUrl } from '../../src/stores/mysql/options.js';
import { queryServer } from '../../src/stores/mysql/testing.js';
import { parsePostgresUrl } from '../../src/stores/postgres/options.js';
import { RedisKeys } from '../../src/stores/redis/keys.js';
import { parseRedisUrl } from '../../src/stores/redis/options.js';
import type { ProjectKey } from '../../src/stores/store.js';
import type { DatabaseName } from '../../src/stores/testing/shared-database.js';

interface Rewrite {
  readonly projectKey: ProjectKey;
  /** A text in the stored events, and what replaces it. */
  readonly from: string;
  readonly to: string;
}

/** Changes stored events with commands of the database, as a user with its password can. */
export const REWRITE_EVENTS: Readonly<
  Record<DatabaseName, (url: string, rewrite: Rewrite) => Promise<void>>
> = {
  async postgres(url, { projectKey: { tenant_id, project_id }, from, to }) {
    const { namespace, password, ...options } = parsePostgresUrl(url);
    const client = new pg.Client({ ...options, ...(password === null ? {} : { password }), ssl: false });
    await client.connect();
    try {
      // The policy of the tables requires this setting, also of their owner.
      await client.query(`SELECT set_config('genesis.commit', 'on', false)`);
      await client.query(
        `UPDATE ${namespace}.event SET body = replace(body, $1, $2) WHERE project_no =
         (SELECT project_no FROM ${namespace}.project WHERE tenant_id = $3 AND project_id = $4)`,
        [from, to, tenant_id, project_id],
      );
    } finally {
      await client.end();
    }
  },

  async mysql(url, { projectKey: { tenant_id, project_id }, from, to }) {
    await queryServer(
      parseMysqlUrl(url),
      `UPDATE event SET event = REPLACE(event, ?, ?) WHERE project_no =
       (SELECT project_no FROM project WHERE tenant_id = ? AND project_id = ?)`,
      [from, to, tenant_id, project_id],
    );
  },

  async redis(url, { projectKey, from, to }) {
    const { host, port, database, namespace } = parseRedisUrl(url);
    const client = createClient({ socket: { host, port }, database, RESP: 2 });
    await client.connect();
    try {
      const key = `${new RedisKeys(namespace).project(projectKey)}:events`;
      for (const [chunk, lines] of Object.entries(await client.hGetAll(key)))
        await client.hSet(key, chunk, lines.replaceAll(from, to));
    } finally {
      client.destroy();
    }
  },

  async dynamodb(url, { projectKey: { tenant_id }, from, to }) {
    const { region, endpoint, namespace } = parseDynamodbUrl(url);
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    const client = new DynamoDBClient({ region, ...(endpoint === null ? {} : { endpoint, credentials }) });
    const TableName = tablesOf(namespace).log;
    try {
      const { Items = [] } = await client.send(new ScanCommand({ TableName }));
      for (const item of Items.filter(({ pk }) => pk?.S?.includes(tenant_id))) {
        const { S: plain, B: compressed } = item.events ?? {};
        const text = compressed === undefined ? plain : inflateRawSync(compressed).toString('utf8');
        if (text === undefined) continue;
        const events = { B: deflateRawSync(Buffer.from(text.replaceAll(from, to))) };
        await client.send(new PutItemCommand({ TableName, Item: { ...item, events } }));
      }
    } finally {
      client.destroy();
    }
  },
};
