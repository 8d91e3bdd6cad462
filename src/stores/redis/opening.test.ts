import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { range, swapOf, transactionOf } from '../conformance/fixture.js';
import { StoreRefused } from '../store.js';
import { parseRedisUrl } from './options.js';
import { openRedisMigrator, openRedisStore } from './redis-store.js';
import { aclRules } from './schema.js';
import { onOwnRedis, type RedisHarness } from './testing/harness.js';

await onOwnRedis(undefined, (redis) => {
  describe('opening a redis store', () => describeOpening(redis));
  describe('a redis user of one namespace', () => describeUser(redis));
});

function describeOpening(redis: RedisHarness): void {
  it('fails with the address if nothing listens there', async () => {
    await expect(openRedisStore(parseRedisUrl('redis://:secret@127.0.0.1:1'))).rejects.toThrow(
      new StoreRefused(
        'No Redis responds at 127.0.0.1:1 (ECONNREFUSED). Check the URL, and that the server is running.',
      ),
    );
  });

  it('fails without a schema, and creates none', async () => {
    const options = { ...redis.options, namespace: 'empty' };
    await expect(openRedisStore(options)).rejects.toThrow(/Run: gen migrate --store URL/);
    expect(await redis.runCommand('EXISTS', 'empty:meta')).toBe(0);
  });

  it('fails on data of a newer version, which a migrator refuses too', async () => {
    await redis.runCommand('HSET', 'newer:meta', 'version', '99');
    const options = { ...redis.options, namespace: 'newer' };
    await expect(openRedisStore(options)).rejects.toThrow(/newer than this program: update genesis-fleet/);
    const migrator = await openRedisMigrator(options);
    expect(await migrator.status()).toEqual({ found: 99, wanted: 2 });
    await expect(migrator.up()).rejects.toThrow(StoreRefused);
    await migrator.close();
  });

  it('works after ten concurrent migrations, of which one applied each step', async () => {
    const options = { ...redis.options, namespace: 'ten' };
    const migrators = await Promise.all(range(1, 10).map(() => openRedisMigrator(options)));
    const [first] = migrators;
    expect((await first!.pending())[0]?.statements).toContain("redis.call('HSET', 'ten:meta', 'version', 1)");
    const appliedSteps = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(
      appliedSteps
        .flat()
        .map((step) => step.version)
        .sort(),
    ).toEqual([1, 2]);
    expect(await first!.status()).toEqual({ found: 2, wanted: 2 });
    expect(await first!.pending()).toEqual([]);
    await Promise.all(migrators.map((migrator) => migrator.close()));
    expect((await (await redis.withOptions({ namespace: 'ten' }).reopen()).meta()).secret).toMatch(
      /^[0-9a-f]{64}$/,
    );
  });

  it('fails with a wrong password', async () => {
    for (const open of [openRedisStore, openRedisMigrator]) {
      const opening = open({ ...redis.options, username: 'nobody', password: 'secret' });
      await expect(opening).rejects.toThrow(
        new StoreRefused('Redis rejected the login. Check user and password in the URL.'),
      );
    }
  });

  it.each([
    ['appendfsync', 'everysec', 'always', /appendfsync is everysec. Run: CONFIG SET appendfsync always/],
    ['appendonly', 'no', 'yes', /appendonly is no. Run: CONFIG SET appendonly yes/],
    ['no-appendfsync-on-rewrite', 'yes', 'no', /CONFIG SET no-appendfsync-on-rewrite no/],
    ['maxmemory-policy', 'volatile-ttl', 'noeviction', /CONFIG SET maxmemory-policy noeviction/],
  ])('with profile durable fails if %s is %s, and says what to run', async (name, wrong, right, sentence) => {
    await redis.migrate();
    await redis.runCommand('CONFIG', 'SET', name, wrong);
    try {
      await expect(openRedisStore(redis.options)).rejects.toThrow(sentence);
      const ha = openRedisStore({ ...redis.options, profile: 'ha' });
      if (name === 'maxmemory-policy') await expect(ha).rejects.toThrow(sentence);
      else await (await ha).close();
    } finally {
      await redis.runCommand('CONFIG', 'SET', name, right);
    }
  });

  it('fails on a replica', async () => {
    await redis.migrate();
    await redis.runCommand('REPLICAOF', '127.0.0.1', '1');
    try {
      await expect(openRedisStore(redis.options)).rejects.toThrow(/read-only replica/);
    } finally {
      await redis.runCommand('REPLICAOF', 'NO', 'ONE');
    }
  });
}

function describeUser(redis: RedisHarness): void {
  it('can do everything in its namespace with the documented ACL rules, and cannot read others', async () => {
    const others = await redis.withOptions({ namespace: 'globex' }).open();
    await commitAndRead(others, 'globex');
    const acme = await tenantUser(redis, 'acme');
    const migrator = await openRedisMigrator(acme);
    await migrator.up();
    await migrator.close();
    const mine = await openRedisStore(acme);
    await commitAndRead(mine, 'acme');
    await mine.blobs.put('acme', 'a'.repeat(64), Buffer.from('work'));
    expect(Buffer.from((await mine.blobs.get('acme', 'a'.repeat(64))) ?? '').toString()).toBe('work');
    await mine.close();

    await expect(openRedisStore({ ...acme, namespace: 'globex' })).rejects.toThrow(StoreRefused);
    const keys = await redis.runCommand<string[]>('KEYS', 'globex:*');
    expect(keys.length).toBeGreaterThan(5);
    for (const key of keys) {
      await expect(runCommandAs(acme, 'EVAL', "return redis.call('GET', ARGV[1])", '0', key)).rejects.toThrow(
        /NOPERM|ERR/,
      );
      await expect(runCommandAs(acme, 'HGET', key, 'secret')).rejects.toThrow(/NOPERM/);
    }
    for (const command of [['KEYS', '*'], ['SCAN', '0'], ['FLUSHALL'], ['MONITOR'], ['ACL', 'LIST']]) {
      await expect(runCommandAs(acme, ...command)).rejects.toThrow(/NOPERM/);
    }
  });

  it('that lacks a single command is refused before it could write half a batch', async () => {
    const options = await tenantUser(redis, 'lacking');
    const migrator = await openRedisMigrator(options);
    await migrator.up();
    await migrator.close();
    await redis.runCommand('ACL', 'SETUSER', 'lacking', '-rpush');
    await expect(openRedisStore(options)).rejects.toThrow(/ACL rules/);
    await redis.runCommand('ACL', 'SETUSER', 'lacking', '+rpush');
    await (await openRedisStore(options)).close();
  });

  it('is created by the command in the documentation', async () => {
    const docs = await readFile(new URL('../../../docs/redis.md', import.meta.url), 'utf8');
    expect(docs).toContain(aclRules('acme'));
  });
}

async function tenantUser(redis: RedisHarness, namespace: string) {
  await redis.runCommand('ACL', 'SETUSER', namespace, 'on', '>secret', ...aclRules(namespace).split(' '));
  return { ...redis.options, namespace, username: namespace, password: 'secret' };
}

async function runCommandAs(options: RedisHarness['options'], ...args: string[]): Promise<unknown> {
  const { createClient } = await import('redis');
  const { host, port, username, password } = options;
  const client = createClient({
    socket: { host, port },
    username,
    password,
    RESP: 2,
    disableClientInfo: true,
  } as object);
  await client.connect();
  try {
    return await client.sendCommand(args);
  } finally {
    client.destroy();
  }
}

async function commitAndRead(
  store: Awaited<ReturnType<typeof openRedisStore>>,
  tenant_id: string,
): Promise<void> {
  const projectKey = { tenant_id, project_id: 'p' };
  const requests = [{ key: 'k', digest: 'd', keep: true }];
  const permits = [{ scope: 'work', member: 'm', until_ms: Number.POSITIVE_INFINITY }];
  const [outcome] = await store.commit([
    transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], requests, permits }),
  ]);
  expect(outcome?.kind).toBe('committed');
  expect(await store.events(projectKey, { after: 0, limit: 9, subject: '~a' })).toHaveLength(1);
  expect(await store.scanHeads(projectKey, { after: null, limit: 9 })).toHaveLength(1);
  expect(await store.countPermits(tenant_id, 'work')).toBe(1);
  expect(await store.projects(tenant_id)).toEqual(['p']);
}
