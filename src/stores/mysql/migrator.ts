import { randomBytes } from 'node:crypto';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { MigrationStep, Migrator } from '../migrator.js';
import { StoreRefused } from '../store.js';
import { connect } from './connection.js';
import { isMissingSchema, toOpeningError } from './errors.js';
import type { MysqlOptions } from './options.js';
import { checkWritable } from './preflight.js';
import { MIGRATIONS, SCHEMA_VERSION } from './schema.js';

const LOCK_SECONDS = 60;

export async function openMysqlMigrator(options: MysqlOptions): Promise<Migrator> {
  try {
    return new MysqlMigrator(await connect(options), options);
  } catch (error) {
    throw toOpeningError(error, options);
  }
}

/** The version of the schema in a database; 0: none. */
export async function schemaVersion(
  connection: Pick<Connection, 'query'>,
  namespace: string,
): Promise<number> {
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      `SELECT MAX(version) AS version FROM \`${namespace}\`.migrations`,
    );
    return Number(rows[0]?.version ?? 0);
  } catch (error) {
    if (isMissingSchema(error)) return 0;
    throw error;
  }
}

export const newerSchemaError = (found: number): StoreRefused =>
  new StoreRefused(
    `The schema has version ${found}, newer than this program, which knows ${SCHEMA_VERSION}: update genesis-fleet.`,
  );

class MysqlMigrator implements Migrator {
  constructor(
    private readonly connection: Connection,
    private readonly options: MysqlOptions,
  ) {}

  status(): Promise<{ found: number; wanted: number }> {
    return this.translateErrors(async () => ({ found: await this.foundVersion(), wanted: SCHEMA_VERSION }));
  }

  pending(): Promise<readonly MigrationStep[]> {
    return this.translateErrors(async () => MIGRATIONS.slice(await this.foundVersion()));
  }

  /** Only one migrator runs at a time; one that waited finds the work done. */
  up(): Promise<readonly MigrationStep[]> {
    return this.translateErrors(async () => {
      await checkWritable(this.connection);
      await this.lock();
      try {
        const found = await this.foundVersion();
        if (found > SCHEMA_VERSION) throw newerSchemaError(found);
        const steps = MIGRATIONS.slice(found);
        if (steps.length > 0) await this.prepare();
        for (const step of steps) await this.applyStep(step);
        return steps;
      } finally {
        await this.connection.query('SELECT RELEASE_LOCK(?)', [this.lockName]);
      }
    });
  }

  async close(): Promise<void> {
    await this.connection.end();
  }

  private get lockName(): string {
    return `migrate ${this.options.namespace}`.slice(0, 64);
  }

  private async lock(): Promise<void> {
    const [rows] = await this.connection.query<RowDataPacket[]>('SELECT GET_LOCK(?, ?) AS taken', [
      this.lockName,
      LOCK_SECONDS,
    ]);
    if (rows[0]?.taken !== 1) {
      throw new StoreRefused('Another migration of this database has not ended. Try again when it has.');
    }
  }

  private foundVersion(): Promise<number> {
    return schemaVersion(this.connection, this.options.namespace);
  }

  private async prepare(): Promise<void> {
    const { namespace } = this.options;
    await this.connection.query(
      `CREATE DATABASE IF NOT EXISTS \`${namespace}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    );
    await this.connection.query(`USE \`${namespace}\``);
    await this.connection.query(
      'CREATE TABLE IF NOT EXISTS migrations (version INT NOT NULL PRIMARY KEY, name VARCHAR(200) NOT NULL) ENGINE = InnoDB',
    );
  }

  private async applyStep({ version, name, statements }: MigrationStep): Promise<void> {
    for (const statement of statements) await this.connection.query(statement);
    // The store's metadata is created once, with the first step.
    await this.connection.query(
      'INSERT INTO meta (one, incarnation, secret) VALUES (1, 1, ?) ON DUPLICATE KEY UPDATE one = 1',
      [randomBytes(32).toString('hex')],
    );
    await this.connection.query('INSERT INTO migrations (version, name) VALUES (?, ?)', [version, name]);
  }

  private async translateErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toOpeningError(error, this.options);
    }
  }
}
