import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isoTime } from '../../core/events/envelope.js';
import { eventOf, range, swapOf, transactionOf } from '../conformance/fixture.js';
import { type EventQuery, StoreRefused, StoreUnavailable } from '../store.js';
import { onSharedEngine } from '../testing/shared-engine.js';
import { eventStatement } from './events.js';
import { type PostgresOptions, parsePostgresUrl } from './options.js';
import { openPostgresMigrator, openPostgresStore } from './postgres-store.js';
import { SCHEMA_VERSION } from './schema.js';
import { migrateNamespace, optionsWithoutTimeouts } from './testing.js';

describe('the URL of a postgres store', () => {
  it('tells everything', () => {
    const url = 'postgres://ada:p%40ss@db.example:6543/fleet?namespace=acme&sslmode=no-verify&connections=3';
    expect(parsePostgresUrl(url)).toMatchObject({
      host: 'db.example',
      port: 6543,
      user: 'ada',
      password: 'p@ss',
      database: 'fleet',
      namespace: 'acme',
      ssl: 'unverified',
      connections_max: 3,
    });
  });

  it.each([
    'nonsense',
    'mysql://u:secret@h/d',
    'postgres://u:secret@h',
    'postgres://u:secret@h/d?namespace=a-b',
    'postgres://u:secret@h/d?namespace=pg_x',
    'postgres://u:secret@h/d?connections=0',
    'postgres://u:secret@h/d?sslmode=perhaps',
    'postgres://u:secret@h/d?colour=red',
  ])('is refused with a sentence and without its password: %s', (url) => {
    expect(() => parsePostgresUrl(url)).toThrow(StoreRefused);
    expect(() => parsePostgresUrl(url)).not.toThrow(/secret/);
  });
});

/** Namespaces and roles unique to this run: others use the same server, and an external server keeps them. */
const own = (name: string): string => `${name}_${RUN}`;
const RUN = randomUUID().slice(0, 8);

await onSharedEngine('postgres', ({ url }) => {
  describe('opening a postgres store', () => describeOpening(url));
  describe('the schema of a postgres store', () => describeMigrations(url));
  describe('tenants of a postgres store', () => describeTenants(url));
  describe('events of a postgres store', () => describeIndexes(url));
});

/** A client of the engine as a given user, beside the store. */
async function asUser(url: string | PostgresOptions): Promise<pg.Client> {
  const { password, ...rest } = typeof url === 'string' ? parsePostgresUrl(url) : url;
  const client = new pg.Client({ ...rest, ...(password === null ? {} : { password }), ssl: false });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

function describeOpening(url: string): void {
  const refusal = async (options: PostgresOptions): Promise<Error> => {
    const error = await openPostgresStore(options).then(
      () => new Error('it opened'),
      (reason: Error) => reason,
    );
    if (options.password !== null) expect(error.message).not.toContain(options.password);
    return error;
  };

  it('is refused with a sentence when the schema is missing, and makes none', async () => {
    const options = optionsWithoutTimeouts(`${url}?namespace=${own('missing')}`);
    const error = await refusal(options);
    expect(error).toBeInstanceOf(StoreRefused);
    expect(error.message).toContain('Run: gen migrate --store URL');
    const { rows } = await (await asUser(url)).query('SELECT to_regnamespace($1) AS made', [own('missing')]);
    expect(rows).toEqual([{ made: null }]);
  });

  it('is refused when the schema is newer than the program', async () => {
    const options = await migrateNamespace(url, own('newer'));
    await (await asUser(url)).query(`INSERT INTO ${own('newer')}.migration VALUES (99, 'of tomorrow')`);
    const error = await refusal(options);
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
    ['a wrong port', { port: 1 }, StoreUnavailable, 'does not answer'],
    ['a wrong host', { host: 'nowhere.invalid' }, Error, 'nowhere.invalid'],
    ['a server without TLS', { ssl: 'verified' as const }, StoreRefused, 'Check sslmode'],
  ])('says what is wrong with %s', async (_, wrong, kind, sentence) => {
    const error = await refusal({ ...optionsWithoutTimeouts(url), ...wrong });
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toContain(sentence);
  });

  it('is refused where it could only read', async () => {
    const options = await migrateNamespace(url, own('read_only'));
    const admin = await asUser(url);
    const user = own('only_reads');
    const roles = `${options.namespace}_write, ${options.namespace}_read`;
    await admin.query(`CREATE ROLE ${user} LOGIN PASSWORD 'pw-of-it' IN ROLE ${roles}`);
    await admin.query(`ALTER ROLE ${user} SET default_transaction_read_only = on`);
    const error = await refusal({ ...options, user, password: 'pw-of-it' });
    expect(error).toBeInstanceOf(StoreRefused);
    expect(error.message).toContain('Give the URL of the primary');
  });

  it('is refused to a user without its roles, who is told which', async () => {
    const options = await migrateNamespace(url, own('closed'));
    await (await asUser(url)).query(`CREATE ROLE ${own('stranger')} LOGIN PASSWORD 'pw-of-it'`);
    const error = await refusal({ ...options, user: own('stranger'), password: 'pw-of-it' });
    expect(error).toBeInstanceOf(StoreRefused);
    expect(error.message).toContain(
      `GRANT ${own('closed')}_write, ${own('closed')}_read TO ${own('stranger')}`,
    );
  });
}

function describeMigrations(url: string): void {
  it('is made once by ten who start together', async () => {
    const options = optionsWithoutTimeouts(`${url}?namespace=${own('together')}`);
    const migrators = await Promise.all(range(1, 10).map(() => openPostgresMigrator(options)));
    expect(await migrators[0]?.status()).toEqual({ found: 0, wanted: SCHEMA_VERSION });
    expect(await migrators[0]?.pending()).toHaveLength(SCHEMA_VERSION);
    const taken = await Promise.all(migrators.map((migrator) => migrator.up()));
    expect(taken.flat()).toHaveLength(SCHEMA_VERSION);
    expect(await migrators[0]?.status()).toEqual({ found: SCHEMA_VERSION, wanted: SCHEMA_VERSION });
    expect(await migrators[0]?.pending()).toEqual([]);
    await Promise.all(migrators.map((migrator) => migrator.close()));
  });

  it('can be owned by a user with no rights beyond the database, who then reads and writes as itself', async () => {
    const { host, port, database } = parsePostgresUrl(url);
    const admin = await asUser(url);
    await admin.query(`CREATE ROLE ${own('modest')} LOGIN PASSWORD 'pw-of-it'`);
    await admin.query(`GRANT CREATE ON DATABASE ${database} TO ${own('modest')}`);
    const options = await migrateNamespace(
      `postgres://${own('modest')}:pw-of-it@${host}:${port}/${database}`,
      own('home'),
    );
    const store = await openPostgresStore(options);
    onTestFinished(() => store.close());
    const project = { tenant_id: 'acme', project_id: 'p' };
    await store.commit([transactionOf(project, { swaps: [swapOf(project, '~a', 0)] })]);
    expect(await store.heads(project, ['~a'])).toMatchObject([{ seq: 1 }]);
    // Row-level security is forced: even the owner sees only the tenant that it names.
    const { rows } = await (await asUser(options)).query(`SELECT * FROM ${options.namespace}.head`);
    expect(rows).toEqual([]);
  });
}

function describeTenants(url: string): void {
  const acme = { tenant_id: 'acme', project_id: 'p' };

  /** A login as described in docs/postgres.md. */
  const application = async (name: string): Promise<PostgresOptions> => {
    const namespace = own(name);
    const options = await migrateNamespace(url, namespace);
    const user = `${namespace}_app`;
    await (await asUser(url)).query(
      `CREATE ROLE ${user} LOGIN PASSWORD 'app' IN ROLE ${namespace}_write, ${namespace}_read`,
    );
    return { ...options, user, password: 'app' };
  };

  it('are served by a login that owns nothing', async () => {
    const store = await openPostgresStore(await application('served'));
    onTestFinished(() => store.close());
    await store.commit([transactionOf(acme, { swaps: [swapOf(acme, '~a', 0)] })]);
    expect(await store.heads(acme, ['~a'])).toMatchObject([{ seq: 1 }]);
    expect((await store.meta()).incarnation).toBe(1);
  });

  it('are hidden from that login where it names none or another, and nothing can be changed past the commit', async () => {
    const options = await application('attacked');
    const store = await openPostgresStore(options);
    onTestFinished(() => store.close());
    await store.commit([transactionOf(acme, { swaps: [swapOf(acme, '~a', 0)] })]);
    await store.blobs.put('acme', 'ab', Buffer.from('x'));
    const attacker = await asUser(options);
    for (const tenant of ['', 'other']) {
      await attacker.query("SELECT set_config('genesis.tenant', $1, false)", [tenant]);
      for (const table of ['project', 'head', 'event', 'slot', 'blob']) {
        expect((await attacker.query(`SELECT * FROM ${options.namespace}.${table}`)).rows).toEqual([]);
      }
    }
    for (const attempt of [
      `SELECT * FROM ${options.namespace}.request`,
      `SELECT * FROM ${options.namespace}.batch`,
      `UPDATE ${options.namespace}.head SET body = '{}'`,
      `DELETE FROM ${options.namespace}.event`,
      `INSERT INTO ${options.namespace}.head VALUES ('acme', 'p', '~b', 1, '{}')`,
      `INSERT INTO ${options.namespace}.blob VALUES ('acme', 'cd', '')`,
      `SELECT ${options.namespace}.forget(NULL, NULL, 0, NULL)`,
      `ALTER TABLE ${options.namespace}.head DISABLE ROW LEVEL SECURITY`,
      `SET genesis.commit = 'on'; DELETE FROM ${options.namespace}.head`,
    ]) {
      await expect(attacker.query(attempt), attempt).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('of two namespaces do not meet', async () => {
    const [one, two] = [await application('level_two_a'), await application('level_two_b')];
    const stores = [await openPostgresStore(one), await openPostgresStore(two)];
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()));
    });
    await stores[0]?.commit([transactionOf(acme, { swaps: [swapOf(acme, '~a', 0)] })]);
    expect(await stores[1]?.project(acme)).toBeNull();
    const attacker = await asUser(one);
    await expect(attacker.query(`SELECT * FROM ${two.namespace}.head`)).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('keep blobs apart', async () => {
    const store = await openPostgresStore(await application('blobs'));
    onTestFinished(() => store.close());
    const bytes = Buffer.from([0, 1, 255, 10]);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await store.blobs.put('acme', sha256, bytes);
    await store.blobs.put('acme', sha256, bytes);
    expect(await store.blobs.get('acme', sha256)).toEqual(bytes);
    expect(await store.blobs.size('acme', sha256)).toBe(4);
    expect(await store.blobs.get('other', sha256)).toBeNull();
    expect(await store.blobs.size('other', sha256)).toBeNull();
  });
}

const FILTERS: [Partial<EventQuery>, string][] = [
  [{}, 'event_pkey'],
  [{ types: ['type-7'] }, 'event_type'],
  [{ types: ['type-7', 'type-8'] }, 'event_type'],
  [{ subject: '~s7' }, 'event_subject'],
  [{ task_id: 'task-7' }, 'event_task'],
  [{ feature_id: 'feature-7' }, 'event_feature'],
  [{ edge: 'edge-7' }, 'event_edge'],
  [{ agent_id: 'agent-7' }, 'event_agent'],
  [{ session_id: 'session-7' }, 'event_session'],
  [{ since: isoTime(Date.UTC(2020, 0, 1, 1)), until: isoTime(Date.UTC(2020, 0, 1, 1, 0, 9)) }, 'event_time'],
];

function describeIndexes(url: string): void {
  it('are found by an index, whatever they are asked by, as the reading role', async () => {
    const options = await migrateNamespace(url, own('indexed'));
    const store = await openPostgresStore(options);
    onTestFinished(() => store.close());
    const project = { tenant_id: `t-${randomUUID()}`, project_id: 'p' };
    const looseEvents = range(1, 5000).map((n) =>
      eventOf(project, {
        event_type: `type-${n % 50}`,
        subject: `~s${n % 50}`,
        task_id: `task-${n % 50}`,
        feature_id: `feature-${n % 50}`,
        edge: `edge-${n % 50}`,
        agent_id: `agent-${n % 50}`,
        session_id: `session-${n % 50}`,
        timestamp: isoTime(Date.UTC(2020, 0, 1) + n * 1000),
      }),
    );
    await store.commit([transactionOf(project, { loose_events: looseEvents })]);
    const client = await asUser(url);
    await client.query(`ANALYZE ${options.namespace}.event`);
    await client.query('BEGIN');
    await client.query(`SET LOCAL ROLE ${options.namespace}_read`);
    await client.query("SELECT set_config('genesis.tenant', $1, true)", [project.tenant_id]);
    for (const [query, index] of FILTERS) {
      const { text, values } = eventStatement(options.namespace, project, { after: 10, limit: 20, ...query });
      const plan = (await client.query(`EXPLAIN ${text}`, values)).rows
        .map((row) => row['QUERY PLAN'])
        .join('\n');
      expect(plan, JSON.stringify(query)).toMatch(new RegExp(`(using|on) ${index}\\b`));
      expect(plan).not.toContain('Seq Scan');
    }
    await client.query('ROLLBACK');
  });
}
