import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, onTestFinished } from 'vitest';
import type { AuditOptions } from '../../src/coordinator/audit/signer.js';
import {
  Coordinator,
  FolderBlobs,
  isProblem,
  MemoryBlobs,
  type NoticeSender,
  type Observer,
  type Problem,
} from '../../src/coordinator/index.js';
import type { Limits } from '../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { Blobs } from '../../src/stores/blobs.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { openMemoryStore } from '../../src/stores/memory/memory-store.js';
import type { ProjectKey, Store } from '../../src/stores/store.js';
import { ManualEnvironment } from './manual-environment.js';

export const STORES = ['memory', 'file'] as const;
export type TestStoreName = (typeof STORES)[number];

export const PROJECT_KEY: ProjectKey = { tenant_id: 'acme', project_id: 'shop' };
const START = '2026-01-04T06:00:00.000Z';
const SECRET = '5'.repeat(64);

export interface CoordinatorHarnessOptions {
  readonly limits?: Partial<Limits>;
  readonly start?: string;
  readonly observer?: Observer;
  readonly audit?: AuditOptions;
  readonly notice_sender?: NoticeSender;
  /** A project that exists before its first event, as a workspace's project does. */
  readonly home?: ProjectKey;
}

/** A coordinator on its own store, with a clock that only the test moves. */
export class CoordinatorHarness {
  coordinator!: Coordinator;
  store!: Store;

  private constructor(
    readonly environment: ManualEnvironment,
    private readonly openStore: () => Promise<Store>,
    private readonly options: CoordinatorHarnessOptions & { blobs: MemoryBlobs | FolderBlobs },
  ) {}

  static async open(
    name: TestStoreName,
    options: CoordinatorHarnessOptions = {},
  ): Promise<CoordinatorHarness> {
    const environment = new ManualEnvironment(options.start ?? START);
    const { clock } = environment;
    if (name === 'memory') {
      // One store object outlives its coordinators, as a file does.
      const store = openMemoryStore({ clock, meta: { incarnation: 1, secret: SECRET } });
      return new CoordinatorHarness(environment, async () => store, {
        ...options,
        blobs: new MemoryBlobs(),
      }).start();
    }
    const root = await mkdtemp(join(tmpdir(), 'harness-'));
    const random = () => Buffer.from(SECRET, 'hex');
    const blobs = new FolderBlobs(join(root, 'blobs'));
    const openStore = () => openFileStore({ root: join(root, 'store'), clock, random });
    const harness = await new CoordinatorHarness(environment, openStore, { ...options, blobs }).start();
    onTestFinished(async () => {
      await harness.store.close();
      await rm(root, { recursive: true, force: true });
    });
    return harness;
  }

  /** Discards the coordinator's memory; what it acknowledged is in the store. */
  async restart(): Promise<void> {
    this.coordinator.close();
    await this.store.close();
    await this.start();
  }

  /** Opens another coordinator over the same store. */
  async openAnother(): Promise<Coordinator> {
    const coordinator = await this.openCoordinator();
    onTestFinished(() => coordinator.close());
    return coordinator;
  }

  get blobs(): Blobs {
    return this.options.blobs;
  }

  advance(seconds: number): void {
    this.environment.advance(seconds);
  }

  async plan(plan: unknown, projectKey = PROJECT_KEY): Promise<void> {
    unwrap(await this.coordinator.plans.put(projectKey, plan));
  }

  async position(projectKey = PROJECT_KEY): Promise<number> {
    return (await this.store.project(projectKey))?.position ?? 0;
  }

  events(projectKey = PROJECT_KEY): Promise<EventEnvelope[]> {
    return this.store.events(projectKey, { after: 0, limit: 100_000 });
  }

  /** The types of a task's events, in order. */
  async eventTypesOf(taskId: string, projectKey = PROJECT_KEY): Promise<string[]> {
    const events = await this.store.events(projectKey, { after: 0, limit: 100_000, subject: taskId });
    return events.map((event) => event.event_type);
  }

  private async start(): Promise<CoordinatorHarness> {
    this.store = Object.assign(await this.openStore(), { home: this.options.home });
    this.coordinator = await this.openCoordinator();
    return this;
  }

  private openCoordinator(): Promise<Coordinator> {
    const { start: _, home: __, ...options } = this.options;
    const { store, environment } = this;
    return Coordinator.open({ store, environment, ...options });
  }
}

export type OpenHarness = (options?: CoordinatorHarnessOptions) => Promise<CoordinatorHarness>;

/** Runs the same tests on the memory store and the file store, which a caller of the coordinator cannot tell apart. */
export function forEachStore(title: string, tests: (open: OpenHarness, name: TestStoreName) => void): void {
  for (const name of STORES) {
    describe(`${title} (${name} store)`, () =>
      tests((options) => CoordinatorHarness.open(name, options), name));
  }
}

/** Returns the reply; throws if it is a problem. */
export function unwrap<T>(reply: T | Problem): T {
  if (isProblem(reply)) throw new Error(`${reply.problem}: ${reply.detail}`);
  return reply;
}

/** A plan whose tasks have no dependencies other than those given. */
export function planOf(...tasks: readonly (string | Record<string, unknown>)[]): unknown {
  const tracks: Record<string, unknown[]> = {};
  for (const task of tasks) {
    const fields = typeof task === 'string' ? { id: task } : task;
    const track = String(fields.id).split('-')[0] ?? '';
    tracks[track] ??= [];
    tracks[track].push({ description: `work on ${fields.id}`, depends_on: [], ...fields });
  }
  return { tracks };
}
