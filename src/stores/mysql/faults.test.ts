import { randomUUID } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventOf, kindsOf, range, swapOf, swapWith, transactionOf } from '../conformance/fixture.js';
import { type ProjectKey, type Store, StoreRefused, StoreUnavailable, StoreUncertain } from '../store.js';
import type { TestDatabase } from '../testing/database.js';
import { onDatabase, onOwnDatabase } from '../testing/on-database.js';
import { startMigrated } from '../testing/shared-database.js';
import { openMysqlStore } from './mysql-store.js';
import type { MysqlOptions } from './options.js';
import { optionsWithLongTimeouts, queryServer } from './testing.js';

await onDatabase(
  'mysql',
  () => startMigrated('mysql'),
  (database) => {
    afterAll(() => database.stop());
    const options = optionsWithLongTimeouts(database.url);
    describe('the mysql store with connection faults', () => describeFaults(options));
    onOwnDatabase('mysql', database, (ownDatabase) => {
      describe('the mysql store with server faults', () => describeDeath(options, ownDatabase));
      describe('the mysql store and the settings of its server', () => describeSettings(options));
    });
  },
);

const newProject = (): ProjectKey => ({ tenant_id: `t-${randomUUID()}`, project_id: 'p' });

async function open(options: MysqlOptions): Promise<Store> {
  const store = await openMysqlStore(options);
  onTestFinished(() => store.close());
  return store;
}

function describeDeath(options: MysqlOptions, { restart, freeze, thaw }: Required<TestDatabase>): void {
  it('keeps every acknowledged commit exactly once when the server is killed under load', async () => {
    const projectKey = newProject();
    const store = await open(options);
    const committedPositions = new Map<string, number>();
    const load = new MysqlCommitLoad(store, projectKey, committedPositions);
    const clients = Promise.all(range(1, 8).map((name) => load.runClient(name)));
    await load.waitForAcknowledged(60);
    await restart();
    await load.waitForAcknowledged(committedPositions.size + 60);
    load.stop();
    await clients;
    const events = await store.events(projectKey, { after: 0, limit: 100_000 });
    expect(events.map(({ position }) => position)).toEqual(range(1, events.length));
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
    for (const [eventId, position] of committedPositions)
      expect(events[position - 1]?.event_id).toBe(eventId);
  });

  it('refuses a commit as late if a frozen server delayed it beyond not_after_ms', async () => {
    const projectKey = newProject();
    const store = await open(options);
    const not_after_ms = (await store.now()) + 150;
    await freeze();
    const waiting = store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)], not_after_ms }),
    ]);
    while (Date.now() <= not_after_ms) await new Promise((resolve) => setTimeout(resolve, 10));
    thaw();
    expect(kindsOf(await waiting)).toEqual(['late']);
  });
}

/** These settings affect the whole server: no other test may use it. */
function describeSettings(options: MysqlOptions): void {
  async function setVariable(name: string, value: number): Promise<void> {
    const [valueBefore] = await queryServer(options, `SELECT @@GLOBAL.${name} AS value`);
    await queryServer(options, `SET GLOBAL ${name} = ${value}`);
    onTestFinished(
      async () => void (await queryServer(options, `SET GLOBAL ${name} = ${valueBefore?.value}`)),
    );
  }

  it('splits a commit that exceeds max_allowed_packet, and keeps its order', async () => {
    await setVariable('max_allowed_packet', 4_194_304);
    const projectKey = newProject();
    const store = await open(options);
    const transactions = range(1, 60).map((n) => {
      const event = eventOf(projectKey, {
        subject: `~s${n}`,
        seq: 1,
        payload: { record: { text: 'x'.repeat(60_000) } },
      });
      return transactionOf(projectKey, { swaps: [swapWith(`~s${n}`, 0, [event])] });
    });
    const outcomes = await store.commit(transactions);
    expect(outcomes.map((outcome) => outcome.kind === 'committed' && outcome.positions)).toEqual(
      range(1, 60).map((n) => [n]),
    );
  });

  it.each([
    ['innodb_flush_log_at_trx_commit', 2, 'innodb_flush_log_at_trx_commit = 1'],
    ['read_only', 1, 'primary'],
  ])('is not opened if %s is %i', async (name, value, advice) => {
    await setVariable(name, value);
    const error = await openMysqlStore(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreRefused);
    expect((error as Error).message).toContain(advice);
  });
}

function describeFaults(options: MysqlOptions): void {
  it.each(['reply', 'request'] as const)(
    'commits once when the connection is cut before the %s arrives',
    async (lost) => {
      const proxy = new CuttingProxy(options.port);
      onTestFinished(() => proxy.close());
      const projectKey = newProject();
      const store = await open({ ...options, port: await proxy.listen() });
      const commit = (seq: number) =>
        store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', seq)] })]);
      // Prepares the statement on the connection before it is cut.
      expect(kindsOf(await commit(0))).toEqual(['committed']);
      proxy.cutNext(lost);
      expect(await commit(1)).toMatchObject([{ kind: 'committed', positions: [2] }]);
      expect(proxy.cuts).toBe(1);
      expect(await store.project(projectKey)).toMatchObject({ position: 2 });
    },
  );

  it('is unavailable, and changes nothing, if the server was not reached', async () => {
    const proxy = new CuttingProxy(options.port);
    const projectKey = newProject();
    const store = await open({ ...options, port: await proxy.listen() });
    await proxy.close();
    await expect(store.now()).rejects.toBeInstanceOf(StoreUnavailable);
    const attempt = store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] })]);
    await expect(attempt).rejects.toBeInstanceOf(StoreUnavailable);
  });
}

/** Clients that each keep moving a subject of their own, whatever happens to the server. */
class MysqlCommitLoad {
  private isStopped = false;
  private listeners: (() => void)[] = [];

  constructor(
    private readonly store: Store,
    private readonly projectKey: ProjectKey,
    private readonly acknowledged: Map<string, number>,
  ) {}

  async runClient(client: number): Promise<void> {
    for (let seq = 0; !this.isStopped; ) {
      const swap = swapOf(this.projectKey, `~s${client}`, seq);
      try {
        const [outcome] = await this.store.commit([transactionOf(this.projectKey, { swaps: [swap] })]);
        if (outcome?.kind === 'conflict') seq = outcome.heads[0]?.head?.seq ?? 0;
        if (outcome?.kind !== 'committed') continue;
        seq += 1;
        this.acknowledged.set(swap.events[0]?.event_id as string, outcome.positions[0] as number);
        for (const listener of this.listeners) listener();
      } catch (error) {
        if (!(error instanceof StoreUnavailable || error instanceof StoreUncertain)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  waitForAcknowledged(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.listeners.push(() => {
        if (this.acknowledged.size >= count) resolve();
      });
    });
  }

  stop(): void {
    this.isStopped = true;
  }
}

/**
 * A proxy between the store and its server. When armed, it cuts the connection of the next call: before the request
 * arrives at the server, or before the reply arrives at the store.
 */
class CuttingProxy {
  cuts = 0;
  private armedCut: 'reply' | 'request' | null = null;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  constructor(port: number) {
    this.server = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      let isReplyLost = false;
      for (const socket of [client, server]) {
        this.sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => [client, server].forEach((end) => void end.destroy()));
      }
      client.on('data', (bytes) => {
        if (this.armedCut === 'request') return this.cut(client);
        if (this.armedCut === 'reply') isReplyLost = true;
        server.write(bytes);
      });
      server.on('data', (bytes) => {
        if (isReplyLost) this.cut(client);
        else client.write(bytes);
      });
    });
  }

  listen(): Promise<number> {
    return new Promise((resolve) => {
      this.server.listen(0, '127.0.0.1', () => resolve((this.server.address() as { port: number }).port));
    });
  }

  cutNext(what: 'reply' | 'request'): void {
    this.armedCut = what;
  }

  close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private cut(client: Socket): void {
    if (this.armedCut === null) return;
    this.armedCut = null;
    this.cuts += 1;
    client.destroy();
  }
}
