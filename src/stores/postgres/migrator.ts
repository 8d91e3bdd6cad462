import type { PoolClient } from 'pg';
import { type MigrationStep, type Migrator, stepsAfter } from '../migrator.js';
import { StoreRefused } from '../store.js';
import { PostgresPool } from './connection.js';
import { toOpeningError } from './errors.js';
import type { PostgresOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { sql } from './queries.js';
import { migrationSteps, SCHEMA_VERSION } from './schema.js';

/** A step may copy all events. */
const STATEMENT_MAX_MS = 24 * 3600 * 1000;

export async function openPostgresMigrator(options: PostgresOptions): Promise<Migrator> {
  const timeouts = { statement_timeout_ms: STATEMENT_MAX_MS };
  const connections = await PostgresPool.make({ ...options, ...timeouts, connections_max: 1 });
  const migrator = new PostgresMigrator(connections, options);
  try {
    await migrator.status();
    return migrator;
  } catch (error) {
    await connections.close();
    throw error;
  }
}

/** The version of the schema in a database; 0: none. */
export async function schemaVersion(client: PoolClient, namespace: string): Promise<number> {
  const tables = await client.query(sql('has_schema', { namespace }));
  if (!tables.rows[0].there) return 0;
  const { rows } = await client.query(sql('schema_version', { namespace }));
  return rows[0].found ?? 0;
}

class PostgresMigrator implements Migrator {
  constructor(
    private readonly connections: PostgresPool,
    private readonly options: PostgresOptions,
  ) {}

  async status(): Promise<{ found: number; wanted: number }> {
    const found = await this.withClient((client) => schemaVersion(client, this.options.namespace));
    return { found, wanted: SCHEMA_VERSION };
  }

  pending(): Promise<readonly MigrationStep[]> {
    return this.withClient((client) => this.pendingSteps(client));
  }

  /** Applies all steps in one transaction, under a lock of the namespace: one migrator applies all of them, or none. */
  up(): Promise<readonly MigrationStep[]> {
    const { namespace } = this.options;
    return this.withClient(async (client) => {
      await runPreflight(client, this.options);
      await client.query('BEGIN');
      try {
        await client.query(sql('lock_migrations'), [`genesis-fleet migrate ${namespace}`]);
        const steps = await this.pendingSteps(client);
        for (const { version, name, statements } of steps) {
          for (const statement of statements) await client.query(statement);
          await client.query(sql('add_migration', { namespace }), [version, name]);
        }
        await client.query('COMMIT');
        return steps;
      } catch (error) {
        await client.query('ROLLBACK').catch(() => {});
        throw error;
      }
    });
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  private async pendingSteps(client: PoolClient): Promise<readonly MigrationStep[]> {
    const { namespace } = this.options;
    const version = await schemaVersion(client, namespace);
    return stepsAfter(`The schema ${namespace}`, version, migrationSteps(namespace));
  }

  private async withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await this.connections.withClient(work);
    } catch (error) {
      throw error instanceof StoreRefused ? error : toOpeningError(error, this.options);
    }
  }
}
