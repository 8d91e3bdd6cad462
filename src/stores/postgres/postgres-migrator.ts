import type { PoolClient } from 'pg';
import type { MigrationStep, Migrator } from '../migrator.js';
import { StoreRefused } from '../store.js';
import type { PostgresOptions } from './configuration.js';
import { Connections } from './connections.js';
import { openingError } from './errors.js';
import { checkFitness } from './fitness.js';
import { migrationSteps, SCHEMA_VERSION, versionTable } from './schema.js';

export async function openPostgresMigrator(options: PostgresOptions): Promise<Migrator> {
  const connections = await Connections.make(options, 1);
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
    private readonly connections: Connections,
    private readonly options: PostgresOptions,
  ) {}

  async status(): Promise<{ found: number; wanted: number }> {
    return { found: await this.use((client) => this.found(client)), wanted: SCHEMA_VERSION };
  }

  async pending(): Promise<readonly MigrationStep[]> {
    return this.use(async (client) => this.after(await this.found(client)));
  }

  /** All steps in one transaction, under a lock of their namespace: they are taken whole, by one, or not at all. */
  async up(): Promise<readonly MigrationStep[]> {
    return this.use(async (client) => {
      await checkFitness(client, this.options);
      await client.query('BEGIN');
      try {
        await client.query("SET LOCAL statement_timeout = '10min'");
        await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
          `genesis-fleet migrate ${this.options.namespace}`,
        ]);
        const steps = this.after(await this.found(client));
        for (const step of steps) await this.take(client, step);
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

  private async take(client: PoolClient, { version, name, statements }: MigrationStep): Promise<void> {
    for (const statement of statements) await client.query(statement);
    const text = `INSERT INTO ${this.options.namespace}.migration (version, name) VALUES ($1, $2)`;
    await client.query(text, [version, name]);
  }

  private after(found: number): readonly MigrationStep[] {
    if (found > SCHEMA_VERSION) {
      throw new StoreRefused(
        `The schema ${this.options.namespace} has version ${found}, newer than this program: update genesis-fleet.`,
      );
    }
    return migrationSteps(this.options.namespace).filter(({ version }) => version > found);
  }

  private async found(client: PoolClient): Promise<number> {
    const { namespace } = this.options;
    const there = await client.query(versionTable(namespace));
    if (!there.rows[0].there) return 0;
    const { rows } = await client.query(`SELECT max(version) AS found FROM ${namespace}.migration`);
    return rows[0].found ?? 0;
  }

  private async use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await this.connections.use(work);
    } catch (error) {
      throw error instanceof StoreRefused ? error : openingError(error, this.options);
    }
  }
}
