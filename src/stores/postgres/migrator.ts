import type { PoolClient } from 'pg';
import type { MigrationStep, Migrator } from '../migrator.js';
import { StoreRefused } from '../store.js';
import { PostgresPool } from './connection.js';
import { toOpeningError } from './errors.js';
import type { PostgresOptions } from './options.js';
import { runPreflight } from './preflight.js';
import { migrationSteps, SCHEMA_VERSION, versionTable } from './schema.js';

export async function openPostgresMigrator(options: PostgresOptions): Promise<Migrator> {
  const connections = await PostgresPool.make(options, 1);
  const migrator = new PostgresMigrator(connections, options);
  try {
    await migrator.status();
    return migrator;
  } catch (error) {
    await connections.close();
    throw error;
  }
}

class PostgresMigrator implements Migrator {
  constructor(
    private readonly connections: PostgresPool,
    private readonly options: PostgresOptions,
  ) {}

  async status(): Promise<{ found: number; wanted: number }> {
    return { found: await this.use((client) => this.foundVersion(client)), wanted: SCHEMA_VERSION };
  }

  async pending(): Promise<readonly MigrationStep[]> {
    return this.use(async (client) => this.stepsAfter(await this.foundVersion(client)));
  }

  /** Applies all steps in one transaction, under a lock of the namespace: one migrator applies all of them, or none. */
  async up(): Promise<readonly MigrationStep[]> {
    return this.use(async (client) => {
      await runPreflight(client, this.options);
      await client.query('BEGIN');
      try {
        await client.query("SET LOCAL statement_timeout = '10min'");
        await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
          `genesis-fleet migrate ${this.options.namespace}`,
        ]);
        const steps = this.stepsAfter(await this.foundVersion(client));
        for (const step of steps) await this.applyStep(client, step);
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

  private async applyStep(client: PoolClient, { version, name, statements }: MigrationStep): Promise<void> {
    for (const statement of statements) await client.query(statement);
    const text = `INSERT INTO ${this.options.namespace}.migration (version, name) VALUES ($1, $2)`;
    await client.query(text, [version, name]);
  }

  private stepsAfter(found: number): readonly MigrationStep[] {
    if (found > SCHEMA_VERSION) {
      throw new StoreRefused(
        `The schema ${this.options.namespace} has version ${found}, newer than this program: update genesis-fleet.`,
      );
    }
    return migrationSteps(this.options.namespace).filter(({ version }) => version > found);
  }

  private async foundVersion(client: PoolClient): Promise<number> {
    const { namespace } = this.options;
    const tableExists = await client.query(versionTable(namespace));
    if (!tableExists.rows[0].there) return 0;
    const { rows } = await client.query(`SELECT max(version) AS found FROM ${namespace}.migration`);
    return rows[0].found ?? 0;
  }

  private async use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await this.connections.withClient(work);
    } catch (error) {
      throw error instanceof StoreRefused ? error : toOpeningError(error, this.options);
    }
  }
}
