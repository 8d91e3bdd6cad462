import { describe, expect, it, onTestFinished } from 'vitest';
import { range } from '../conformance/fixture.js';
import { StoreRefused, StoreUnavailable } from '../store.js';
import { onSharedDatabase } from '../testing/shared-database.js';
import { openMysqlMigrator, openMysqlStore } from './mysql-store.js';
import type { MysqlOptions } from './options.js';
import { SCHEMA_VERSION } from './schema.js';
import { harnessOf, newNamespace } from './testing/harness.js';
import { optionsWithLongTimeouts } from './testing.js';

await onSharedDatabase('mysql', ({ url }) => {
  describe('opening a mysql store', () => describeOpening(optionsWithLongTimeouts(url)));
});

function describeOpening(options: MysqlOptions): void {
  const { open, admin } = harnessOf(options);

  const openingResult = (withOptions: MysqlOptions): Promise<unknown> =>
    openMysqlStore(withOptions).then(
      () => 'opened',
      (error: unknown) => error,
    );

  it('fails without a schema, and creates none', async () => {
    const namespace = newNamespace();
    const error = await openingResult({ ...options, namespace });
    expect(error).toBeInstanceOf(StoreRefused);
    expect((error as Error).message).toContain('gen migrate --store');
    expect(await admin('SHOW DATABASES LIKE ?', [namespace])).toEqual([]);
  });

  it('fails if the schema is newer than the program', async () => {
    const namespace = newNamespace();
    const migrator = await openMysqlMigrator({ ...options, namespace });
    onTestFinished(async () => {
      await migrator.close();
      await admin(`DROP DATABASE ${namespace}`);
    });
    await migrator.up();
    await admin(`INSERT INTO ${namespace}.migrations VALUES (?, 'later')`, [SCHEMA_VERSION + 1]);
    for (const attempt of [openingResult({ ...options, namespace }), migrator.up().catch((error) => error)]) {
      expect(await attempt).toBeInstanceOf(StoreRefused);
      expect(((await attempt) as Error).message).toContain('update genesis-fleet');
    }
  });

  it('fails with a wrong password, which no message shows', async () => {
    const error = await openingResult({ ...options, user: 'root', password: 'wrong-pass' });
    expect(error).toBeInstanceOf(StoreRefused);
    expect((error as Error).message).toContain('Check user and password');
    expect(String(error)).not.toContain('wrong-pass');
  });

  it('is unavailable if nothing listens, since a retry may succeed', async () => {
    expect(await openingResult({ ...options, port: 1 })).toBeInstanceOf(StoreUnavailable);
  });

  it('works after ten concurrent migrations, in which each step was applied once', async () => {
    const fresh = { ...options, namespace: newNamespace() };
    const migrators = await Promise.all(range(1, 10).map(() => openMysqlMigrator(fresh)));
    expect(await migrators[0]?.status()).toEqual({ found: 0, wanted: SCHEMA_VERSION });
    expect(await migrators[0]?.pending()).toHaveLength(SCHEMA_VERSION);
    const appliedSteps = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(appliedSteps.flat()).toHaveLength(SCHEMA_VERSION);
    expect(await migrators[9]?.status()).toEqual({ found: SCHEMA_VERSION, wanted: SCHEMA_VERSION });
    await Promise.all(migrators.map((migrator) => migrator.close()));
    expect((await (await open(fresh)).meta()).incarnation).toBe(1);
    await admin(`DROP DATABASE ${fresh.namespace}`);
  });
}
