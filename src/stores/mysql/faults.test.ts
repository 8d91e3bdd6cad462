import { randomUUID } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { kindsOf, range, swapOf, unitOf } from '../conformance/scene.js';
import { type ProjectKey, type Store, StoreUnavailable, StoreUncertain } from '../store.js';
import { parseMysqlUrl } from './configuration.js';
import { openMysqlMigrator, openMysqlStore } from './mysql-store.js';
import { startMysql } from './testing.js';

const engine = await startMysql();

describe.skipIf('missing' in engine)('the mysql store on a bad day', () => {
  if ('missing' in engine) return;
  const options = parseMysqlUrl(engine.url);
  const newProject = (): ProjectKey => ({ tenant_id: `t-${randomUUID()}`, project_id: 'p' });

  async function open(port = options.port): Promise<Store> {
    const store = await openMysqlStore({ ...options, port });
    onTestFinished(() => store.close());
    return store;
  }

  beforeAll(async () => {
    const migrator = await openMysqlMigrator(options);
    await migrator.up();
    await migrator.close();
  });
  afterAll(() => engine.stop());

  it.skipIf(engine.restart === undefined)(
    'has every outcome it told after a power cut in the middle of them, and nothing twice',
    async () => {
      const project = newProject();
      const store = await open();
      const told = new Map<string, number>();
      const load = new Load(store, project, told);
      const clients = Promise.all(range(1, 8).map((name) => load.client(name)));
      await load.hasTold(60);
      await engine.restart?.();
      await load.hasTold(told.size + 60);
      load.stop();
      await clients;
      const events = await store.events(project, { after: 0, limit: 100_000 });
      expect(events.map(({ position }) => position)).toEqual(range(1, events.length));
      expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
      for (const [event_id, position] of told) expect(events[position - 1]?.event_id).toBe(event_id);
    },
  );

  it.each(['reply', 'request'] as const)(
    'commits once when the connection is cut before the %s arrives',
    async (lost) => {
      const proxy = new CuttingProxy(options.port);
      onTestFinished(() => proxy.close());
      const project = newProject();
      const store = await open(await proxy.listen());
      const commit = (seq: number) =>
        store.commit([unitOf(project, { swaps: [swapOf(project, '~a', seq)] })]);
      // The statement is prepared on the connection before the one that is cut.
      expect(kindsOf(await commit(0))).toEqual(['committed']);
      proxy.cutNext(lost);
      expect(await commit(1)).toMatchObject([{ kind: 'committed', positions: [2] }]);
      expect(proxy.cuts).toBe(1);
      expect(await store.project(project)).toMatchObject({ position: 2 });
    },
  );

  it('says that nothing happened when nobody was there to be asked', async () => {
    const proxy = new CuttingProxy(options.port);
    const project = newProject();
    const store = await open(await proxy.listen());
    await proxy.close();
    await expect(store.now()).rejects.toBeInstanceOf(StoreUnavailable);
    const attempt = store.commit([unitOf(project, { swaps: [swapOf(project, '~a', 0)] })]);
    await expect(attempt).rejects.toBeInstanceOf(StoreUnavailable);
  });

  it.skipIf(engine.freeze === undefined)(
    'does not take a commit for in time that a frozen server delayed',
    async () => {
      const project = newProject();
      const store = await open();
      const not_after_ms = (await store.now()) + 150;
      engine.freeze?.();
      const waiting = store.commit([unitOf(project, { swaps: [swapOf(project, '~a', 0)], not_after_ms })]);
      while (Date.now() <= not_after_ms + 50) await new Promise((resolve) => setTimeout(resolve, 10));
      engine.thaw?.();
      expect(kindsOf(await waiting)).toEqual(['late']);
    },
  );
});

/** Clients that each move a subject of their own on and on, whatever becomes of the server. */
class Load {
  private stopped = false;
  private listeners: (() => void)[] = [];

  constructor(
    private readonly store: Store,
    private readonly project: ProjectKey,
    private readonly told: Map<string, number>,
  ) {}

  async client(name: number): Promise<void> {
    for (let seq = 0; !this.stopped; ) {
      const swap = swapOf(this.project, `~s${name}`, seq);
      try {
        const [outcome] = await this.store.commit([unitOf(this.project, { swaps: [swap] })]);
        if (outcome?.kind === 'conflict') seq = outcome.heads[0]?.head?.seq ?? 0;
        if (outcome?.kind !== 'committed') continue;
        seq += 1;
        this.told.set(swap.events[0]?.event_id as string, outcome.positions[0] as number);
        for (const listener of this.listeners) listener();
      } catch (error) {
        if (!(error instanceof StoreUnavailable || error instanceof StoreUncertain)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  hasTold(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.listeners.push(() => {
        if (this.told.size >= count) resolve();
      });
    });
  }

  stop(): void {
    this.stopped = true;
  }
}

/** Between the store and its server. Told to, it cuts a connection with the next call: before it arrives, or after. */
class CuttingProxy {
  cuts = 0;
  private armed: 'reply' | 'request' | null = null;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  constructor(port: number) {
    this.server = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      let swallow = false;
      for (const socket of [client, server]) {
        this.sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => [client, server].forEach((end) => void end.destroy()));
      }
      client.on('data', (bytes) => {
        if (this.armed === 'request') return this.cut(client);
        if (this.armed === 'reply') swallow = true;
        server.write(bytes);
      });
      server.on('data', (bytes) => {
        if (swallow) this.cut(client);
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
    this.armed = what;
  }

  close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private cut(client: Socket): void {
    if (this.armed === null) return;
    this.armed = null;
    this.cuts += 1;
    client.destroy();
  }
}
