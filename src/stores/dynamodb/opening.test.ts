import { randomUUID } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import { StoreRefused } from '../store.js';
import { DynamoClient } from './connection.js';
import { openDynamodbMigrator, openDynamodbStore } from './dynamodb-store.js';
import { META_KEY, N, S } from './keys.js';
import type { DynamodbOptions } from './options.js';
import { describeOnDynamodb } from './testing/harness.js';

await describeOnDynamodb('opening a dynamodb store', ({ options, proxy: openProxy }) => {
  afterEach(() => vi.unstubAllEnvs());

  const openingRefusal = async (from: DynamodbOptions): Promise<string> => {
    const error = await openDynamodbStore(from).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreRefused);
    return error.message;
  };

  it('without tables fails and says how to create them', async () => {
    expect(await openingRefusal({ ...options, namespace: `nobody-${randomUUID()}` })).toMatch(
      /Run: gen migrate --store URL/,
    );
  });

  it('with tables of a newer version fails and says to update, as migrating does', async () => {
    const newer = { ...options, namespace: `newer-${randomUUID()}` };
    const migrator = await openDynamodbMigrator(newer);
    await migrator.up();
    const dynamo = await DynamoClient.connect(newer, Date.now);
    await dynamo.putAll(dynamo.tables.state, [{ ...META_KEY, version: N(99), secret: S('x') }]);
    expect(await openingRefusal(newer)).toMatch(/newer than this program.*update genesis-fleet/);
    await expect(migrator.up()).rejects.toThrow(/update genesis-fleet/);
    await migrator.close();
    dynamo.close();
  });

  it('at an unreachable endpoint fails and names it', async () => {
    expect(await openingRefusal({ ...options, endpoint: 'http://127.0.0.1:1' })).toMatch(
      /127\.0\.0\.1:1: DynamoDB does not respond \(ECONNREFUSED/,
    );
  });

  it('without credentials fails and names the missing ones', async () => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) {
      vi.stubEnv(name, undefined as unknown as string);
    }
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
    expect(await openingRefusal({ ...options, endpoint: null })).toMatch(/No AWS credentials were found/);
  });

  it.each([
    ['UnrecognizedClientException', /does not recognize these credentials/],
    ['AccessDeniedException', /have no access to the tables/],
    ['ExpiredTokenException', /expired/],
  ])('fails and says what to check if AWS replies %s', async (error, sentence) => {
    const proxy = await openProxy();
    proxy.fate = () => ({ error });
    expect(await openingRefusal(proxy.options)).toMatch(sentence);
  });

  it('works after ten concurrent migrations, of which one applied the step', async () => {
    const fresh = { ...options, namespace: `fresh-${randomUUID()}` };
    const migrators = await Promise.all(Array.from({ length: 10 }, () => openDynamodbMigrator(fresh)));
    expect(await migrators[0]?.status()).toEqual({ found: 0, wanted: 2 });
    expect((await migrators[0]?.pending())?.[0]?.statements.join()).toContain('CreateTable');
    const appliedSteps = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(appliedSteps.filter((steps) => steps.length > 0)).toHaveLength(1);
    expect(await migrators[9]?.pending()).toEqual([]);
    await Promise.all(migrators.map((migrator) => migrator.close()));
    const stores = await Promise.all([openDynamodbStore(fresh), openDynamodbStore(fresh)]);
    expect(await stores[0].meta()).toEqual(await stores[1].meta());
    await Promise.all(stores.map((store) => store.close()));
  });
});
