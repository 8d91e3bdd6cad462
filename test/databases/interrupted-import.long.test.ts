import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { Coordinator, isProblem } from '../../src/coordinator/index.js';
import type { ArchiveLine } from '../../src/coordinator/transfer/archive.js';
import { exportProject } from '../../src/coordinator/transfer/export-project.js';
import { importForeign } from '../../src/coordinator/transfer/import-foreign.js';
import { importProject } from '../../src/coordinator/transfer/import-project.js';
import { commitImported } from '../../src/coordinator/transfer/imported-events.js';
import { isImportUnfinished } from '../../src/coordinator/transfer/unfinished-import.js';
import { openStoreUrl } from '../../src/server/store-url.js';
import { MemoryBlobs } from '../../src/stores/blobs.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { openMemoryStore } from '../../src/stores/memory/memory-store.js';
import {
  type ProjectKey,
  type Store,
  StoreUnavailable,
  StoreUncertain,
  type Transaction,
} from '../../src/stores/store.js';
import { DATABASE_NAMES, onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import { CoordinatorHarness, PROJECT_KEY, planOf, unwrap } from '../support/coordinator-harness.js';

interface ImportSize {
  /** Lines of an imported foreign log, which the store must be able to write in one commit. */
  readonly lines: number;
  /** Tasks of an imported project, which are too many for one commit. */
  readonly tasks: number;
}

const LARGE: ImportSize = { lines: 3000, tasks: 600 };
/** A transaction of DynamoDB has at most 50 events. */
const SMALL: ImportSize = { ...LARGE, lines: 45 };

const newProjectKey = (): ProjectKey => ({ tenant_id: `t${randomUUID().slice(0, 8)}`, project_id: 'shop' });

/**
 * Passes commits on to a store, except the one with the number `failingCommit`: it fails, after it has taken effect if
 * `isApplied`.
 */
class FailingCommits {
  count = 0;

  constructor(
    private readonly store: Store,
    private readonly failingCommit: number,
    private readonly isApplied: boolean,
  ) {}

  get failingStore(): Store {
    return Object.assign(Object.create(this.store) as Store, {
      commit: (transactions: readonly Transaction[]) => this.commit(transactions),
    });
  }

  private async commit(transactions: readonly Transaction[]) {
    this.count += 1;
    if (this.count !== this.failingCommit) return this.store.commit(transactions);
    if (!this.isApplied) throw new StoreUnavailable('The store failed.');
    await this.store.commit(transactions);
    throw new StoreUncertain('The reply was lost.');
  }
}

async function* foreignLog(lines: number): AsyncGenerator<Uint8Array> {
  for (let line = 0; line < lines; line += 1) {
    const feature = `REQ-F-${line}`;
    const event = {
      event_type: 'edge_converged',
      timestamp: '2025-12-01T10:00:00Z',
      feature,
      edge: 'design_code',
    };
    yield Buffer.from(`${JSON.stringify(event)}\n`);
  }
}

const importLog = (store: Store, projectKey: ProjectKey, lines: number, isInParts = false) =>
  importForeign(
    foreignLog(lines),
    {
      put: async (events) => unwrap(await commitImported(store, projectKey, events, isInParts)),
      putBlob: async () => {},
    },
    { ...projectKey, source: 'old.jsonl', now_ms: Date.parse('2026-01-04T06:00:00Z'), known_edges: null },
  );

const eventsOf = (store: Store, projectKey: ProjectKey) =>
  store.events(projectKey, { after: 0, limit: 100_000 });

/** The archive of a project with more events than one commit of an import takes. */
async function sampleArchive(projectKey: ProjectKey, tasks: number): Promise<ArchiveLine[]> {
  const { coordinator, store, blobs } = await CoordinatorHarness.open('memory', {
    limits: { max_concurrent_claims: tasks, max_active_sessions: tasks },
  });
  const taskIds = Array.from({ length: tasks }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-task`);
  unwrap(await coordinator.plans.put(projectKey, planOf(...taskIds)));
  for (const task_id of taskIds)
    unwrap(
      await coordinator.claims.claimTask(projectKey, { task_id, agent_id: 'alpha', session_id: 's-alpha' }),
    );
  const lines: ArchiveLine[] = [];
  for await (const line of exportProject(store, blobs, projectKey)) lines.push(line);
  return lines;
}

async function* linesOf(lines: readonly ArchiveLine[]): AsyncGenerator<ArchiveLine> {
  yield* lines;
}

type OpenStore = () => Promise<Store>;

function describeImports(name: string, openStore: OpenStore, { lines, tasks }: ImportSize): void {
  describe(`an import that the ${name} store interrupts`, () => {
    for (const isApplied of [false, true]) {
      const when = isApplied ? 'after' : 'before';
      it(`of a foreign log writes all lines or none, if a commit fails ${when} it takes effect`, async () => {
        const store = await openStore();
        for (let failing = 1; ; failing += 1) {
          const projectKey = newProjectKey();
          const commits = new FailingCommits(store, failing, isApplied);
          const error = await importLog(commits.failingStore, projectKey, lines).then(
            () => null,
            (reason: unknown) => reason,
          );
          const eventCount = (await eventsOf(store, projectKey)).length;
          if (error === null) {
            expect([eventCount, failing > 1]).toEqual([lines, true]);
            break;
          }
          expect(eventCount).toBe(isApplied ? lines : 0);
          expect(await importLog(store, projectKey, lines)).toMatchObject({
            read: lines,
            already_there: eventCount,
          });
          expect(await eventsOf(store, projectKey)).toHaveLength(lines);
        }
      });

      it(`of a project is not served until it is complete, if a commit fails ${when} it takes effect`, async () => {
        let failures = 0;
        for (let failing = 1; ; failing += 1) {
          const projectKey = newProjectKey();
          const archive = await sampleArchive(projectKey, tasks);
          const store = await openStore();
          const coordinator = await Coordinator.open({ store });
          onTestFinished(() => coordinator.close());
          const commits = new FailingCommits(store, failing, isApplied);
          const error = await importProject(commits.failingStore, new MemoryBlobs(), linesOf(archive)).then(
            () => null,
            (reason: unknown) => reason,
          );
          if (error === null) break;
          failures += 1;
          await expectNothingOrAll(store, coordinator, projectKey, archive);
          const repeated = await importProject(store, new MemoryBlobs(), linesOf(archive));
          expect(repeated).toMatchObject({ events: archive.length - 1 });
          expect(await isImportUnfinished(store, projectKey)).toBe(false);
          expect(await eventsOf(store, projectKey)).toEqual(eventsIn(archive));
          await expectNothingOrAll(store, coordinator, projectKey, archive);
        }
        expect(failures).toBeGreaterThanOrEqual(3);
      });
    }
  });
}

const eventsIn = (archive: readonly ArchiveLine[]) =>
  archive.flatMap((line) => ('event' in line ? [line.event] : []));

/** Expects that a query sees the whole project, or that it and a command get no project, or UNAVAILABLE if it is incomplete. */
async function expectNothingOrAll(
  store: Store,
  coordinator: Coordinator,
  projectKey: ProjectKey,
  archive: readonly ArchiveLine[],
) {
  const { length } = await eventsOf(store, projectKey);
  const status = await coordinator.queries.status(projectKey);
  if (length > 0 && !(await isImportUnfinished(store, projectKey))) {
    expect([length, isProblem(status)]).toEqual([archive.length - 1, false]);
    return;
  }
  const body = { task_id: 'A-001-task', agent_id: 'beta', session_id: 's-beta' };
  const claim = await coordinator.claims.claimTask(projectKey, body);
  const unfinished = { problem: 'UNAVAILABLE', detail: expect.stringContaining('gen import') };
  expect(status).toMatchObject(length === 0 ? { problem: 'UNKNOWN_PROJECT' } : unfinished);
  expect(claim).toMatchObject(length === 0 ? { reason: 'UNKNOWN_PROJECT' } : unfinished);
}

describeImports('memory', async () => openMemoryStore(), LARGE);

describeImports(
  'file',
  async () => {
    const root = await mkdtemp(join(tmpdir(), 'import-'));
    const store = await openFileStore({ root });
    onTestFinished(async () => {
      await store.close();
      await rm(root, { recursive: true, force: true });
    });
    return store;
  },
  LARGE,
);

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, async ({ url }) => {
    const { store } = await openStoreUrl(url, () => {});
    afterAll(() => store.close());
    describeImports(name, async () => store, name === 'dynamodb' ? SMALL : LARGE);
  });
}

it('an import that exceeds one transaction is refused as a whole; if parts are allowed, a repetition completes it', async () => {
  const memory = openMemoryStore();
  const transaction_size_max = { events: 50, bytes: 1_000_000 };
  const capabilities = { ...memory.capabilities, transaction_size_max };
  const store: Store = Object.assign(Object.create(memory) as Store, { capabilities });
  const { failingStore } = new FailingCommits(store, 3, false);
  await expect(importLog(failingStore, PROJECT_KEY, LARGE.lines)).rejects.toThrow('Nothing was imported');
  expect(await eventsOf(store, PROJECT_KEY)).toEqual([]);
  await expect(importLog(failingStore, PROJECT_KEY, LARGE.lines, true)).rejects.toThrow(StoreUnavailable);
  expect(await eventsOf(store, PROJECT_KEY)).toHaveLength(100);
  expect(await importLog(store, PROJECT_KEY, LARGE.lines, true)).toMatchObject({
    written: LARGE.lines - 100,
    already_there: 100,
  });
});
