import { describe, expect, it } from 'vitest';
import { range } from '../conformance/fixture.js';
import { openMemoryStore } from '../memory/memory-store.js';
import { type ProjectKey, StoreRefused } from '../store.js';
import { contentOf, transactionOutcomesOf, transactionsOf } from '../testing/migrated-content.js';
import { openRedisMigrator, openRedisStore } from './redis-store.js';
import { aclRules } from './schema.js';
import { onOwnRedis, type RedisHarness } from './testing/harness.js';
import { Version1 } from './testing/version-1.js';

const LOOSE_EVENTS = 2500;

await onOwnRedis(undefined, (redis) =>
  describe('the migration of a redis store from version 1', () => describeMigration(redis)),
);

const PROJECTS: readonly ProjectKey[] = [
  { tenant_id: 'acme', project_id: 'a:b' },
  { tenant_id: 'acme', project_id: 'two' },
  { tenant_id: 'gl{o}bex', project_id: 'p' },
];

function describeMigration(redis: RedisHarness): void {
  it('leaves every reply the same and removes all keys of version 1, even if interrupted and run three times at once', async () => {
    const expected = openMemoryStore();
    const version1 = new Version1((...args) => redis.runCommand(...args));
    await version1.create();
    for (const projectKey of PROJECTS) {
      const transactions = transactionsOf(projectKey, LOOSE_EVENTS);
      const outcomes = await expected.commit(transactions);
      await version1.fill(projectKey, transactions, outcomes);
      const [event] = await expected.events(projectKey, { after: 60, limit: 1 });
      const redacted = { ...event!, payload: { redacted: true } };
      await expected.redact(projectKey, [redacted]);
      await version1.redact(projectKey, redacted);
    }
    await redis.runCommand('SET', 'genesis_fleet:{acme}:blob:00', '1blob');
    await expect(openRedisStore(redis.options)).rejects.toThrow(
      new StoreRefused(
        'The Genesis Fleet schema in this Redis has version 1, and this program needs 2. Run: gen migrate --store URL',
      ),
    );

    // The first run is interrupted in the first project: the user may not remove keys yet.
    const user = ['ACL', 'SETUSER', 'migrating'];
    await redis.runCommand(
      ...user,
      'on',
      '>secret',
      ...aclRules('genesis_fleet').split(' '),
      '+scan',
      '+hscan',
      '+exists',
    );
    const options = { ...redis.options, username: 'migrating', password: 'secret' };
    const interrupted = await openRedisMigrator(options);
    await expect(interrupted.up()).rejects.toThrow();
    await interrupted.close();
    const eventCounts = ['a%3Ab', 'two'].map((name) =>
      redis.runCommand('HLEN', `genesis_fleet:{acme}:p:${name}:events`),
    );
    expect(await Promise.all(eventCounts)).toContain(0);
    await redis.runCommand(...user, '+unlink');

    const migrators = await Promise.all(range(1, 3).map(() => openRedisMigrator(options)));
    const appliedSteps = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(appliedSteps.flat().map(({ version }) => version)).toEqual([2]);
    await Promise.all(migrators.map((migrator) => migrator.close()));

    const store = await redis.reopen();
    expect(await contentOf(store, PROJECTS)).toEqual(await contentOf(expected, PROJECTS));
    expect(await transactionOutcomesOf(expected, PROJECTS)).toMatchObject(
      await transactionOutcomesOf(store, PROJECTS),
    );
    expect(await redis.runCommand('GET', 'genesis_fleet:{acme}:blob:00')).toBe('1blob');
    const keys = await redis.runCommand<string[]>('KEYS', '*');
    expect(keys.filter((key) => /}:(p|slots):/.test(key))).toEqual([]);
  });
}
