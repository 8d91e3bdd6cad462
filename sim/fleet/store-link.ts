import {
  type Outcome,
  type Store,
  type StoreCapabilities,
  StoreUnavailable,
  type Unit,
} from '../../src/stores/store.js';
import type { Process } from '../world/process.js';
import type { Rng } from '../world/rng.js';

/** The connection broke after the commit was sent: nobody can tell whether it happened. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

export interface LinkFaults {
  failure_chance: number;
}

type Fate = 'works' | 'never sent' | 'reply lost' | 'done after giving up';

/** A shared store as one coordinator reaches it: over a line that is slow, breaks, and delivers after it broke. */
export class StoreLink {
  constructor(
    private readonly store: () => Store,
    private readonly owner: Process,
    private readonly faults: LinkFaults,
    private readonly rng: Rng,
  ) {}

  asStore(capabilities: StoreCapabilities): Store {
    return {
      capabilities,
      commit: (units) => this.commit(units),
      heads: (project, subjects) => this.read((store) => store.heads(project, subjects)),
      scanHeads: (project, page) => this.read((store) => store.scanHeads(project, page)),
      events: (project, query) => this.read((store) => store.events(project, query)),
      forget: (project, events) => this.read((store) => store.forget(project, events)),
      project: (project) => this.read((store) => store.project(project)),
      projects: (tenant_id) => this.read((store) => store.projects(tenant_id)),
      occupancy: (tenant_id, scope) => this.read((store) => store.occupancy(tenant_id, scope)),
      now: () => this.read((store) => store.now()),
      meta: () => this.read((store) => store.meta()),
      close: async () => {},
    };
  }

  private async read<T>(ask: (store: Store) => Promise<T>): Promise<T> {
    await this.travel();
    if (this.rng.chance(this.faults.failure_chance)) throw new StoreUnavailable('the line is down');
    return ask(this.store());
  }

  private async commit(units: readonly Unit[]): Promise<Outcome[]> {
    const fate = this.fate();
    await this.travel();
    if (fate === 'never sent') throw new StoreUnavailable('the line is down');
    if (fate === 'done after giving up') {
      const store = this.store();
      // It is out of the sender's hands: it arrives even if the sender dies.
      this.owner.world.schedule(this.rng.between(10, 5000), 'late commit', () => void store.commit(units));
      await this.travel();
      throw new ConnectionLost('the line broke');
    }
    const outcomes = await this.store().commit(units);
    await this.travel();
    if (fate === 'reply lost') throw new ConnectionLost('the line broke');
    return outcomes;
  }

  private fate(): Fate {
    if (!this.rng.chance(this.faults.failure_chance)) return 'works';
    return this.rng.pick<Fate>(['never sent', 'reply lost', 'reply lost', 'done after giving up']);
  }

  private travel(): Promise<void> {
    return this.owner.sleep(this.rng.between(0.1, 8), 'link');
  }
}
