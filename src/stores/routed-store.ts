import {
  type CommitOutcome,
  type FoundDamage,
  type ProjectKey,
  type ProjectsWithPermitsPage,
  type Store,
  type StoreBroken,
  type StoreCapabilities,
  type StoreMeta,
  StoreRefused,
  StoreUnavailable,
  type Transaction,
} from './store.js';

/**
 * Routes tenants to separate stores by configuration: a schema, a database or an instance each. Each store
 * but the default one is opened on first use; if it cannot be reached, that affects only its own tenants.
 */
export class RoutedStore implements Store {
  private readonly storeByUrl = new Map<string, Promise<Store>>();
  private readonly openStores = new Set<Store>();
  private resolveBroken!: (error: StoreBroken) => void;
  /** Resolves with the error of the first store that becomes unusable. The server serves all stores, so it has to restart. */
  readonly broken = new Promise<StoreBroken>((resolve) => {
    this.resolveBroken = resolve;
  });

  private constructor(
    /** Returns the URL of a tenant's store. */
    private readonly routeOf: (tenantId: string) => string,
    private readonly open: (url: string) => Promise<Store>,
    /** Holds data that belongs to no tenant, and every tenant whose route is `defaultUrl`. */
    private readonly defaultStore: Store,
    private readonly defaultUrl: string,
    /** The tenants with an entry of their own in the routes file. */
    private readonly routedTenants: readonly string[],
  ) {
    this.watch(defaultStore);
  }

  static async open(
    defaultUrl: string,
    routeOf: (tenantId: string) => string,
    open: (url: string) => Promise<Store>,
    routedTenants: readonly string[] = [],
  ): Promise<RoutedStore> {
    return new RoutedStore(routeOf, open, await open(defaultUrl), defaultUrl, routedTenants);
  }

  /** The default store's, but without a single writer. The store of one tenant (`storeOf`) has its own capabilities. */
  get capabilities(): StoreCapabilities {
    return { ...this.defaultStore.capabilities, single_writer: false };
  }

  storeOf(tenantId: string): Promise<Store> {
    const url = this.routeOf(tenantId);
    if (url === this.defaultUrl) return Promise.resolve(this.defaultStore);
    const existing = this.storeByUrl.get(url);
    if (existing !== undefined) return existing;
    const opening = this.open(url);
    this.storeByUrl.set(url, opening);
    opening.then(
      (store) => this.watch(store),
      () => this.storeByUrl.delete(url),
    );
    return opening;
  }

  /** Transactions of tenants in different stores cannot be part of one commit. */
  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const [first] = transactions;
    if (first === undefined) return [];
    const routes = new Set(transactions.map(({ tenant_id }) => this.routeOf(tenant_id)));
    if (routes.size > 1) {
      throw new Error('A commit has transactions of tenants in different stores. Commit them separately.');
    }
    return (await this.storeOf(first.tenant_id)).commit(transactions);
  }

  readonly heads: Store['heads'] = async (projectKey, subjects) =>
    (await this.storeOf(projectKey.tenant_id)).heads(projectKey, subjects);
  readonly scanHeads: Store['scanHeads'] = async (projectKey, page) =>
    (await this.storeOf(projectKey.tenant_id)).scanHeads(projectKey, page);
  readonly events: Store['events'] = async (projectKey, query) =>
    (await this.storeOf(projectKey.tenant_id)).events(projectKey, query);
  readonly redact: Store['redact'] = async (projectKey, events) =>
    (await this.storeOf(projectKey.tenant_id)).redact(projectKey, events);
  readonly project: Store['project'] = async (projectKey) =>
    (await this.storeOf(projectKey.tenant_id)).project(projectKey);
  readonly projects: Store['projects'] = async (tenantId) =>
    (await this.storeOf(tenantId)).projects(tenantId);
  readonly countPermits: Store['countPermits'] = async (tenantId, scope) =>
    (await this.storeOf(tenantId)).countPermits(tenantId, scope);

  /**
   * Reads one store after the other: the default store, the stores of `routedTenants`, and the others used so far. A store
   * that cannot be reached is left out.
   */
  async projectsWithPermits({ after, limit }: ProjectsWithPermitsPage): Promise<ProjectKey[]> {
    if (after === null) await this.openRouted();
    const stores = [...this.openStores];
    const first = after === null ? 0 : stores.indexOf(await this.storeOf(after.tenant_id));
    const projectKeys: ProjectKey[] = [];
    for (const [index, store] of stores.slice(first).entries()) {
      const page = { after: index === 0 ? after : null, limit: limit - projectKeys.length };
      projectKeys.push(...(await unlessUnavailable(store.projectsWithPermits(page))));
      if (projectKeys.length >= limit) break;
    }
    return projectKeys;
  }

  /**
   * The tenants of the default store, of the stores of `routedTenants`, and of the others used so far. A store that cannot
   * be reached is left out, except the default store: then the call rejects.
   */
  async tenantIds(): Promise<string[]> {
    await this.openRouted();
    const lists = [this.tenantsAt(this.defaultUrl, this.defaultStore.tenantIds())];
    for (const [url, opening] of this.storeByUrl) {
      const listing = opening.then(
        (store) => unlessUnavailable(store.tenantIds()),
        () => [],
      );
      lists.push(this.tenantsAt(url, listing));
    }
    return (await Promise.all(lists)).flat().sort();
  }

  damage(): readonly FoundDamage[] {
    return [...this.openStores].flatMap((store) => store.damage?.() ?? []);
  }

  now(): Promise<number> {
    return this.defaultStore.now();
  }

  meta(): Promise<StoreMeta> {
    return this.defaultStore.meta();
  }

  raiseIncarnation(): Promise<StoreMeta> {
    throw new StoreRefused(
      'Each store of a routes file has its own incarnation. Pass the URL of one of these stores.',
    );
  }

  async close(): Promise<void> {
    const stores = await Promise.allSettled(this.storeByUrl.values());
    for (const store of stores) if (store.status === 'fulfilled') await store.value.close();
    await this.defaultStore.close();
  }

  /** Opens the stores of `routedTenants`. A store that cannot be opened is left out. */
  private async openRouted(): Promise<void> {
    await Promise.allSettled(this.routedTenants.map((tenantId) => this.storeOf(tenantId)));
  }

  /** The tenants of a store that are routed to it. It may also have data of tenants that have another route now. */
  private async tenantsAt(url: string, listing: Promise<string[]>): Promise<string[]> {
    return (await listing).filter((tenantId) => this.routeOf(tenantId) === url);
  }

  private watch(store: Store): void {
    this.openStores.add(store);
    void store.broken?.then(this.resolveBroken);
  }
}

/** Empty if the store cannot be reached: the others are listed without it, and the next call tries it again. */
async function unlessUnavailable<T>(listing: Promise<T[]>): Promise<T[]> {
  try {
    return await listing;
  } catch (error) {
    if (error instanceof StoreUnavailable) return [];
    throw error;
  }
}
