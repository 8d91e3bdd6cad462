import { randomBytes } from 'node:crypto';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { type MigrationStep, type Migrator, stepsAfter } from '../migrator.js';
import { StoreRefused } from '../store.js';
import { connect } from './connection.js';
import { classifyError, toOpeningError } from './errors.js';
import type { MysqlOptions } from './options.js';
import { checkWritable } from './preflight.js';
import { sql } from './queries.js';
import { databaseStatements, MIGRATIONS, SCHEMA_VERSION } from './schema.js';

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
    const [rows] = await connection.query<RowDataPacket[]>(sql('schema_version', { namespace }));
    return Number(rows[0]?.version ?? 0);
  } catch (error) {
    if (classifyError(error) === 'missing') return 0;
    throw error;
  }
}

class MysqlMigrator implements Migrator {
  constructor(
    private readonly connection: Connection,
    private readonly options: MysqlOptions,
  ) {}

  status(): Promise<{ found: number; wanted: number }> {
    return this.translateErrors(async () => ({ found: await this.foundVersion(), wanted: SCHEMA_VERSION }));
  }

  pending(): Promise<readonly MigrationStep[]> {
    return this.translateErrors(async () =>
      stepsAfter(`The schema ${this.options.namespace}`, await this.foundVersion(), MIGRATIONS),
    );
  }

  /** Only one migrator runs at a time. One that has waited finds no steps left. */
  up(): Promise<readonly MigrationStep[]> {
    const lockName = `migrate ${this.options.namespace}`.slice(0, 64);
    return this.translateErrors(async () => {
      await checkWritable(this.connection);
      const [[lock]] = await this.connection.query<RowDataPacket[]>(sql('lock_migrations'), [
        lockName,
        LOCK_SECONDS,
      ]);
      if (lock?.taken !== 1) {
        throw new StoreRefused('Another migration of this database is running. Try again when it ends.');
      }
      try {
        const steps = await this.pending();
        for (const step of steps) await this.applyStep(step);
        return steps;
      } finally {
        await this.connection.query(sql('unlock_migrations'), [lockName]);
      }
    });
  }

  async close(): Promise<void> {
    await this.connection.end();
  }

  private foundVersion(): Promise<number> {
    return schemaVersion(this.connection, this.options.namespace);
  }

  private async applyStep({ version, name, statements }: MigrationStep): Promise<void> {
    for (const statement of [...databaseStatements(this.options.namespace), ...statements]) {
      await this.connection.query(statement);
    }
    // The store's metadata is created once, with the first step.
    await this.connection.query(sql('add_meta'), [randomBytes(32).toString('hex')]);
    await this.connection.query(sql('add_migration'), [version, name]);
  }

  private async translateErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toOpeningError(error, this.options);
    }
  }
}
