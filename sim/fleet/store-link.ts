import {
  type CommitOutcome,
  type Store,
  type StoreCapabilities,
  StoreUnavailable,
  type Transaction,
} from '../../src/stores/store.js';
import type { SimProcess } from '../world/process.js';
import type { Rng } from '../world/rng.js';

/** The connection broke after the commit was sent: its outcome is unknown. */
class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

export interface LinkFaults {
  failure_chance: number;
}

type LinkOutcome = 'works' | 'never sent' | 'reply lost' | 'done after giving up';

/** One coordinator's connection to a shared store: slow, unreliable, and able to deliver a commit after the connection broke. */
export class StoreLink {
  constructor(
    private readonly store: () => Store,
    private readonly owner: SimProcess,
    private readonly faults: LinkFaults,
    private readonly rng: Rng,
  ) {}

  asStore(capabilities: StoreCapabilities): Store {
    return {
      capabilities,
      commit: (transactions) => this.commit(transactions),
      heads: (projectKey, subjects) => this.read((store) => store.heads(projectKey, subjects)),
      scanHeads: (projectKey, page) => this.read((store) => store.scanHeads(projectKey, page)),
      events: (projectKey, query) => this.read((store) => store.events(projectKey, query)),
      redact: (projectKey, events) => this.read((store) => store.redact(projectKey, events)),
      project: (projectKey) => this.read((store) => store.project(projectKey)),
      projects: (tenantId) => this.read((store) => store.projects(tenantId)),
      tenantIds: () => this.read((store) => store.tenantIds()),
      countPermits: (tenantId, scope) => this.read((store) => store.countPermits(tenantId, scope)),
      projectsWithPermits: (page) => this.read((store) => store.projectsWithPermits(page)),
      now: () => this.read((store) => store.now()),
      meta: () => this.read((store) => store.meta()),
      raiseIncarnation: (incarnation) => this.read((store) => store.raiseIncarnation(incarnation)),
      close: async () => {},
    };
  }

  private async read<T>(query: (store: Store) => Promise<T>): Promise<T> {
    await this.delay();
    if (this.rng.chance(this.faults.failure_chance)) throw new StoreUnavailable('the connection is down');
    return query(this.store());
  }

  private async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const linkOutcome = this.pickOutcome();
    await this.delay();
    if (linkOutcome === 'never sent') throw new StoreUnavailable('the connection is down');
    if (linkOutcome === 'done after giving up') {
      const store = this.store();
      // The commit is in transit and arrives even if the sender dies.
      this.owner.world.schedule(
        this.rng.between(10, 5000),
        'late commit',
        () => void store.commit(transactions),
      );
      await this.delay();
      throw new ConnectionLost('the connection broke');
    }
    const outcomes = await this.store().commit(transactions);
    await this.delay();
    if (linkOutcome === 'reply lost') throw new ConnectionLost('the connection broke');
    return outcomes;
  }

  private pickOutcome(): LinkOutcome {
    if (!this.rng.chance(this.faults.failure_chance)) return 'works';
    return this.rng.pick<LinkOutcome>(['never sent', 'reply lost', 'reply lost', 'done after giving up']);
  }

  private delay(): Promise<void> {
    return this.owner.sleep(this.rng.between(0.1, 8), 'link');
  }
}
