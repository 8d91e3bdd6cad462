import { randomUUID } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { range, swapOf, transactionOf } from '../conformance/fixture.js';
import { type ProjectKey, type Store, StoreUnavailable, StoreUncertain } from '../store.js';
import type { TestDatabase } from '../testing/database.js';
import { onDatabase, onOwnDatabase } from '../testing/on-database.js';
import type { PostgresOptions } from './options.js';
import { openPostgresStore } from './postgres-store.js';
import { migrateNamespace, startPostgres } from './testing.js';

await onDatabase('postgres', startPostgres, async (database) => {
  afterAll(() => database.stop());
  const options = await migrateNamespace(database.url, 'faults');
  describe('the postgres store with connection faults', () => describeFaults(options));
  onOwnDatabase('postgres', database, (ownDatabase) =>
    describe('the postgres store with server faults', () => describeDeath(options, ownDatabase)),
  );
});

const newProject = (): ProjectKey => ({ tenant_id: `t-${randomUUID()}`, project_id: 'p' });

async function openStore(options: PostgresOptions): Promise<Store> {
  const store = await openPostgresStore(options);
  onTestFinished(() => store.close());
  return store;
}

function describeDeath(options: PostgresOptions, { restart, freeze, thaw }: Required<TestDatabase>): void {
  it('keeps every acknowledged commit exactly once when the server is killed under load', async () => {
    const projectKey = newProject();
    const store = await openStore(options);
    const writers = range(1, 6).map((index) => new PostgresWriterLoad(store, projectKey, `~s${index}`));
    const working = writers.map((writer) => writer.writeContinuously());
    for (const _ of range(1, 2)) {
      await Promise.all(writers.map((writer) => writer.waitForAcknowledged(5)));
      await restart();
    }
    await Promise.all(writers.map((writer) => writer.waitForAcknowledged(5)));
    for (const writer of writers) writer.stop();
    await Promise.all(working);
    for (const writer of writers) await writer.expectNothingLost();
    const events = await store.events(projectKey, { after: 0, limit: 100_000 });
    expect(events.map((event) => event.position)).toEqual(range(1, events.length));
  });

  it('refuses a commit as late that a frozen server delayed beyond not_after_ms', async () => {
    const projectKey = newProject();
    const store = await openStore(options);
    await store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] })]);
    const not_after_ms = (await store.now()) + 300;
    await freeze();
    const waiting = store.commit([
      transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 1)], not_after_ms }),
    ]);
    while (Date.now() <= not_after_ms) await new Promise(setImmediate);
    thaw();
    expect(await waiting).toMatchObject([{ kind: 'late' }]);
  });
}

function describeFaults(options: PostgresOptions): void {
  it.each([
    ['before the request arrives', 'request'],
    ['before the reply arrives', 'reply'],
  ] as const)('applies a commit once if its connection is cut %s', async (_, cut) => {
    const projectKey = newProject();
    const proxy = await ConnectionCutter.inFrontOf(options);
    const store = await openStore({ ...options, port: proxy.port });
    await store.commit([transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] })]);
    for (const seq of range(1, 3)) {
      proxy.cutNext(cut);
      const [outcome] = await store.commit([
        transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', seq)] }),
      ]);
      expect(outcome).toMatchObject({ kind: 'committed', positions: [seq + 1] });
    }
    expect(proxy.cuts).toBe(3);
    expect(await store.project(projectKey)).toMatchObject({ position: 4 });
  });

  it('is unavailable while the server is unreachable, and works again afterwards', async () => {
    const projectKey = newProject();
    const proxy = await ConnectionCutter.inFrontOf(options);
    const store = await openStore({ ...options, port: proxy.port });
    proxy.setRefusing(true);
    const transaction = transactionOf(projectKey, { swaps: [swapOf(projectKey, '~a', 0)] });
    // This query hits the broken connection, so that the commit starts without one.
    await expect(store.project(projectKey)).rejects.toThrow(StoreUnavailable);
    await expect(store.commit([transaction])).rejects.toThrow(StoreUnavailable);
    proxy.setRefusing(false);
    expect(await store.commit([transaction])).toMatchObject([{ kind: 'committed', positions: [1] }]);
  });
}

/** Keeps moving a head of its own, whatever happens to the database, and counts the acknowledged commits. */
class PostgresWriterLoad {
  private acknowledged = 0;
  private isStopped = false;
  private readonly waiting: { count: number; resolve: () => void }[] = [];

  constructor(
    private readonly store: Store,
    private readonly projectKey: ProjectKey,
    private readonly subject: string,
  ) {}

  async writeContinuously(): Promise<void> {
    for (let seq = 0; !this.isStopped; ) {
      try {
        const swaps = [swapOf(this.projectKey, this.subject, seq)];
        const [outcome] = await this.store.commit([transactionOf(this.projectKey, { swaps })]);
        // Nothing else moves this head: a conflict means that a commit with an uncertain outcome did happen.
        seq = outcome?.kind === 'conflict' ? (outcome.heads[0]?.head?.seq ?? 0) : seq + 1;
        this.acknowledge(seq);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) && !(error instanceof StoreUncertain)) throw error;
      }
    }
  }

  /** Resolves after this many more commits were acknowledged. */
  waitForAcknowledged(more: number): Promise<void> {
    return new Promise((resolve) => this.waiting.push({ count: this.acknowledged + more, resolve }));
  }

  stop(): void {
    this.isStopped = true;
  }

  async expectNothingLost(): Promise<void> {
    const events = await this.store.events(this.projectKey, {
      after: 0,
      limit: 100_000,
      subject: this.subject,
    });
    expect(events.map((event) => event.seq)).toEqual(range(1, events.length));
    expect(events.length).toBe(this.acknowledged);
  }

  private acknowledge(seq: number): void {
    this.acknowledged = seq;
    for (const { count, resolve } of this.waiting) if (seq >= count) resolve();
  }
}

/** A proxy between store and database that cuts the connection of the next commit. */
class ConnectionCutter {
  cuts = 0;
  private cut: 'request' | 'reply' | null = null;
  private isRefusing = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: PostgresOptions,
  ) {}

  static async inFrontOf(target: PostgresOptions): Promise<ConnectionCutter> {
    const server = createServer();
    const proxy = new ConnectionCutter(server, target);
    server.on('connection', (near) => proxy.joinSockets(near));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      proxy.setRefusing(true);
      server.close();
    });
    return proxy;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  cutNext(cut: 'request' | 'reply'): void {
    this.cut = cut;
  }

  setRefusing(isRefusing: boolean): void {
    this.isRefusing = isRefusing;
    if (isRefusing) for (const socket of this.sockets) socket.destroy();
  }

  private joinSockets(near: Socket): void {
    const far = connect(this.target.port, this.target.host);
    const closeBoth = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      socket.on('error', closeBoth).on('close', closeBoth);
    }
    if (this.isRefusing) closeBoth();
    let activeCut: 'request' | 'reply' | null = null;
    near.on('data', (bytes) => {
      if (this.cut !== null && bytes.includes('thing_happened')) {
        activeCut = this.cut;
        this.cut = null;
        this.cuts += 1;
      }
      if (activeCut === 'request') closeBoth();
      else far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (activeCut === 'reply') closeBoth();
      else near.write(bytes);
    });
  }
}
