import { describe, expect, it, onTestFinished } from 'vitest';
import { range, swapOf, transactionOf } from '../conformance/fixture.js';
import { StoreRefused, StoreUnavailable } from '../store.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { type PostgresOptions, parsePostgresUrl } from './options.js';
import { openPostgresMigrator, openPostgresStore } from './postgres-store.js';
import { SCHEMA_VERSION } from './schema.js';
import { asUser, uniqueName } from './testing/harness.js';
import { migrateNamespace, optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('postgres', ({ url }) => {
  describe('opening a postgres store', () => describeOpening(url));
  describe('the schema of a postgres store', () => describeMigrations(url));
});

function describeOpening(url: string): void {
  const openingRefusal = async (options: PostgresOptions): Promise<Error> => {
    const error = await openPostgresStore(options).then(
      () => new Error('The store was opened.'),
      (reason: Error) => reason,
    );
    if (options.password !== null) expect(error.message).not.toContain(options.password);
    return error;
  };

  it('fails without a schema, and creates none', async () => {
    const options = optionsWithLongTimeouts(`${url}?namespace=${uniqueName('missing')}`);
    const error = await openingRefusal(options);
    expect(error).toBeInstanceOf(StoreRefused);
    expect(error.message).toContain('Run: gen migrate --store URL');
    const { rows } = await (await asUser(url)).query('SELECT to_regnamespace($1) AS made', [
      uniqueName('missing'),
    ]);
    expect(rows).toEqual([{ made: null }]);
  });

  it('fails if the schema is newer than the program', async () => {
    const options = await migrateNamespace(url, uniqueName('newer'));
    await (await asUser(url)).query(
      `INSERT INTO ${uniqueName('newer')}.migration VALUES (99, 'of tomorrow')`,
    );
    const error = await openingRefusal(options);
    expect(error).toBeInstanceOf(StoreRefused);
    expect(error.message).toContain('newer than this program: update genesis-fleet');
    const migrator = await openPostgresMigrator(options);
    await expect(migrator.up()).rejects.toThrow('newer than this program');
    await migrator.close();
  });

  it.each([
    ['a wrong password', { password: 'wrong' }, StoreRefused, 'Check user and password'],
    ['a wrong user', { user: 'nobody-here' }, StoreRefused, 'Check user and password'],
    ['a wrong database', { database: 'elsewhere' }, StoreRefused, 'There is no database elsewhere'],
    ['a wrong port', { port: 1 }, StoreUnavailable, 'does not respond'],
    ['a wrong host', { host: 'nowhere.invalid' }, Error, 'nowhere.invalid'],
    ['a server without TLS', { ssl: 'verified' as const }, StoreRefused, 'Check sslmode'],
  ])('fails with an explanation for %s', async (_, wrongOptions, kind, sentence) => {
    const error = await openingRefusal({ ...optionsWithLongTimeouts(url), ...wrongOptions });
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toContain(sentence);
  });

  it('fails for a read-only user', async () => {
    const options = await migrateNamespace(url, uniqueName('read_only'));
    const admin = await asUser(url);
    const user = uniqueName('only_reads');
    const roles = `${options.namespace}_write, ${options.namespace}_read`;
    await admin.query(`CREATE ROLE ${user} LOGIN PASSWORD 'pw-of-it' IN ROLE ${roles}`);
    await admin.query(`ALTER ROLE ${user} SET default_transaction_read_only = on`);
    const error = await openingRefusal({ ...options, user, password: 'pw-of-it' });
    expect(error).toBeInstanceOf(StoreRefused);
    expect(error.message).toContain('default_transaction_read_only is on');
  });

  it('fails for a user without the roles, and names them', async () => {
    const options = await migrateNamespace(url, uniqueName('closed'));
    await (await asUser(url)).query(`CREATE ROLE ${uniqueName('stranger')} LOGIN PASSWORD 'pw-of-it'`);
    const error = await openingRefusal({ ...options, user: uniqueName('stranger'), password: 'pw-of-it' });
    expect(error).toBeInstanceOf(StoreRefused);
    expect(error.message).toContain(
      `GRANT ${uniqueName('closed')}_write, ${uniqueName('closed')}_read TO ${uniqueName('stranger')}`,
    );
  });
}

function describeMigrations(url: string): void {
  it('is created once by ten concurrent migrators', async () => {
    const options = optionsWithLongTimeouts(`${url}?namespace=${uniqueName('together')}`);
    const migrators = await Promise.all(range(1, 10).map(() => openPostgresMigrator(options)));
    expect(await migrators[0]?.status()).toEqual({ found: 0, wanted: SCHEMA_VERSION });
    expect(await migrators[0]?.pending()).toHaveLength(SCHEMA_VERSION);
    const appliedSteps = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(appliedSteps.flat()).toHaveLength(SCHEMA_VERSION);
    expect(await migrators[0]?.status()).toEqual({ found: SCHEMA_VERSION, wanted: SCHEMA_VERSION });
    expect(await migrators[0]?.pending()).toEqual([]);
    await Promise.all(migrators.map((migrator) => migrator.close()));
  });

  it('can be owned by a user with rights on the database only, who reads and writes as itself', async () => {
    const { host, port, database } = parsePostgresUrl(url);
    const admin = await asUser(url);
    await admin.query(`CREATE ROLE ${uniqueName('modest')} LOGIN PASSWORD 'pw-of-it'`);
    await admin.query(`GRANT CREATE ON DATABASE ${database} TO ${uniqueName('modest')}`);
    const options = await migrateNamespace(
      `postgres://${uniqueName('modest')}:pw-of-it@${host}:${port}/${database}`,
      uniqueName('home'),
    );
    const store = await openPostgresStore(options);
    onTestFinished(() => store.close());
    const projectKey = { tenant_id: 'acme', project_id: 'p' };
    await store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] })]);
    expect(await store.heads(projectKey, ['~a'])).toMatchObject([{ seq: 1 }]);
    // Row-level security is forced: even the owner sees only the tenant that it names.
    const { rows } = await (await asUser(options)).query(`SELECT * FROM ${options.namespace}.head`);
    expect(rows).toEqual([]);
  });
}
