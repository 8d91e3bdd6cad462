import type { EventEnvelope } from '../core/events/envelope.js';
import type {
  EventQuery,
  FoundDamage,
  Outcome,
  ProjectKey,
  ProjectRow,
  Store,
  StoreBroken,
  StoreCapabilities,
  StoredHead,
  StoreMeta,
  Unit,
} from './store.js';

/** Names a tenant's store, by its URL. */
export type RouteOf = (tenant_id: string) => string;

/**
 * Tenants in stores of their own: a schema, a database, an instance for each, by configuration. Stores are opened with
 * the first command that needs them, and one that cannot be reached takes down its own tenants alone.
 */
export class RoutedStore implements Store {
  private readonly opened = new Map<string, Promise<Store>>();
  /** Those that are open by now. */
  private readonly stores = new Set<Store>();
  private tellFinished!: (error: StoreBroken) => void;
  /** The first of them: whoever serves them all starts anew. */
  readonly finished = new Promise<StoreBroken>((resolve) => {
    this.tellFinished = resolve;
  });

  private constructor(
    private readonly routeOf: RouteOf,
    private readonly open: (url: string) => Promise<Store>,
    /** Keeps what belongs to no tenant, and every tenant without a route of its own. */
    private readonly main: Store,
    private readonly main_url: string,
  ) {
    this.watch(main);
  }

  static async open(
    main_url: string,
    routeOf: RouteOf,
    open: (url: string) => Promise<Store>,
  ): Promise<RoutedStore> {
    return new RoutedStore(routeOf, open, await open(main_url), main_url);
  }

  /** Of the main store, but for what must hold for all of them. Projects go by those of the store that keeps them. */
  get capabilities(): StoreCapabilities {
    return { ...this.main.capabilities, single_writer: false };
  }

  storeOf(tenant_id: string): Promise<Store> {
    const url = this.routeOf(tenant_id);
    if (url === this.main_url) return Promise.resolve(this.main);
    const known = this.opened.get(url);
    if (known !== undefined) return known;
    const opening = this.open(url);
    this.opened.set(url, opening);
    opening.then(
      (store) => this.watch(store),
      () => this.opened.delete(url),
    );
    return opening;
  }

  /** A commit belongs to one store: units of tenants in two of them could not happen in one call. */
  async commit(units: readonly Unit[]): Promise<Outcome[]> {
    const [first] = units;
    if (first === undefined) return [];
    const routes = new Set(units.map(({ tenant_id }) => this.routeOf(tenant_id)));
    if (routes.size > 1) throw new Error('one commit cannot go to two stores');
    return (await this.storeOf(first.tenant_id)).commit(units);
  }

  async heads(project: ProjectKey, subjects: readonly string[]): Promise<(StoredHead | null)[]> {
    return (await this.storeOf(project.tenant_id)).heads(project, subjects);
  }

  async scanHeads(project: ProjectKey, page: { after: string | null; limit: number }): Promise<StoredHead[]> {
    return (await this.storeOf(project.tenant_id)).scanHeads(project, page);
  }

  async events(project: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    return (await this.storeOf(project.tenant_id)).events(project, query);
  }

  async forget(project: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    return (await this.storeOf(project.tenant_id)).forget(project, events);
  }

  async project(project: ProjectKey): Promise<ProjectRow | null> {
    return (await this.storeOf(project.tenant_id)).project(project);
  }

  async projects(tenant_id: string): Promise<string[]> {
    return (await this.storeOf(tenant_id)).projects(tenant_id);
  }

  /** Of the main store. The others are opened when they are needed. */
  async tenantIds(): Promise<string[]> {
    const kept = (await this.main.tenantIds?.()) ?? [];
    return kept.filter((tenant_id) => this.routeOf(tenant_id) === this.main_url);
  }

  damage(): readonly FoundDamage[] {
    return [...this.stores].flatMap((store) => store.damage?.() ?? []);
  }

  async occupancy(tenant_id: string, scope: string): Promise<number> {
    return (await this.storeOf(tenant_id)).occupancy(tenant_id, scope);
  }

  now(): Promise<number> {
    return this.main.now();
  }

  meta(): Promise<StoreMeta> {
    return this.main.meta();
  }

  async close(): Promise<void> {
    const stores = await Promise.allSettled(this.opened.values());
    for (const store of stores) if (store.status === 'fulfilled') await store.value.close();
    await this.main.close();
  }

  private watch(store: Store): void {
    this.stores.add(store);
    void store.finished?.then(this.tellFinished);
  }
}
