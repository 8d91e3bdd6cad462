import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, onTestFinished } from 'vitest';
import {
  Coordinator,
  FolderBlobs,
  isProblem,
  MemoryBlobs,
  type Problem,
  type Witness,
} from '../../src/coordinator/index.js';
import type { Limits } from '../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { Blobs } from '../../src/stores/blobs.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { openMemoryStore } from '../../src/stores/memory/memory-store.js';
import type { ProjectKey, Store } from '../../src/stores/store.js';
import { Clockwork } from './clockwork.js';

export const STORES = ['memory', 'file'] as const;
export type StoreName = (typeof STORES)[number];

export const P: ProjectKey = { tenant_id: 'acme', project_id: 'shop' };
const START = '2026-01-04T06:00:00.000Z';
const SECRET = '5'.repeat(64);

export interface HouseOptions {
  readonly limits?: Partial<Limits>;
  readonly start?: string;
  readonly witness?: Witness;
}

/** A coordinator on a store of its own, in a world that stands still. */
export class House {
  coordinator!: Coordinator;
  store!: Store;

  private constructor(
    readonly world: Clockwork,
    private readonly openStore: () => Promise<Store>,
    private readonly options: HouseOptions & { blobs: MemoryBlobs | FolderBlobs },
  ) {}

  static async open(name: StoreName, options: HouseOptions = {}): Promise<House> {
    const world = new Clockwork(options.start ?? START);
    const { clock } = world;
    if (name === 'memory') {
      // The one object outlives its coordinators, as a file does.
      const store = openMemoryStore({ clock, meta: { incarnation: 1, secret: SECRET } });
      return new House(world, async () => store, { ...options, blobs: new MemoryBlobs() }).started();
    }
    const root = await mkdtemp(join(tmpdir(), 'house-'));
    const random = () => Buffer.from(SECRET, 'hex');
    const blobs = new FolderBlobs(join(root, 'blobs'));
    const openStore = () => openFileStore({ root: join(root, 'store'), clock, random });
    const house = await new House(world, openStore, { ...options, blobs }).started();
    onTestFinished(async () => {
      await house.store.close();
      await rm(root, { recursive: true, force: true });
    });
    return house;
  }

  /** Everything the coordinator knew is gone; what it acknowledged is in the store. */
  async restart(): Promise<void> {
    this.coordinator.close();
    await this.store.close();
    await this.started();
  }

  /** One more coordinator over the same store. */
  async another(): Promise<Coordinator> {
    const coordinator = await this.opened();
    onTestFinished(() => coordinator.close());
    return coordinator;
  }

  get blobs(): Blobs {
    return this.options.blobs;
  }

  advance(seconds: number): void {
    this.world.advance(seconds);
  }

  async plan(plan: unknown, scope = P): Promise<void> {
    answered(await this.coordinator.plans.put(scope, plan));
  }

  async position(scope = P): Promise<number> {
    return (await this.store.project(scope))?.position ?? 0;
  }

  events(scope = P): Promise<EventEnvelope[]> {
    return this.store.events(scope, { after: 0, limit: 100_000 });
  }

  /** The types of what happened to a task, in order. */
  async story(task_id: string, scope = P): Promise<string[]> {
    const events = await this.store.events(scope, { after: 0, limit: 100_000, subject: task_id });
    return events.map((event) => event.event_type);
  }

  private async started(): Promise<House> {
    this.store = await this.openStore();
    this.coordinator = await this.opened();
    return this;
  }

  private opened(): Promise<Coordinator> {
    const { start: _, ...options } = this.options;
    const { store, world: environment } = this;
    return Coordinator.open({ store, environment, ...options });
  }
}

export type OpenHouse = (options?: HouseOptions) => Promise<House>;

/** The same tests on every store: whoever calls the coordinator cannot tell them apart. */
export function forEachStore(what: string, tests: (open: OpenHouse, name: StoreName) => void): void {
  for (const name of STORES) {
    describe(`${what} (${name} store)`, () => tests((options) => House.open(name, options), name));
  }
}

/** The reply, where the test is not about what is wrong with the request. */
export function answered<T>(reply: T | Problem): T {
  if (isProblem(reply)) throw new Error(`${reply.problem}: ${reply.detail}`);
  return reply;
}

/** A plan of tasks that wait for nothing but what they name. */
export function planOf(...tasks: readonly (string | Record<string, unknown>)[]): unknown {
  const tracks: Record<string, unknown[]> = {};
  for (const task of tasks) {
    const given = typeof task === 'string' ? { id: task } : task;
    const track = String(given.id).split('-')[0] ?? '';
    tracks[track] ??= [];
    tracks[track].push({ description: `work on ${given.id}`, depends_on: [], ...given });
  }
  return { tracks };
}
