import type { ProcessClock } from '../../src/stores/clock.js';
import { type MemoryStore, openMemoryStore } from '../../src/stores/memory/memory-store.js';
import type { Outcome, Store, StoreMeta, Unit } from '../../src/stores/store.js';
import { Pace } from '../checks/pace.js';
import type { Process } from '../world/process.js';
import { overheard } from './site.js';

interface Journaled {
  readonly units: readonly Unit[];
  readonly outcomes: readonly Outcome[];
}

/** Tells the times of a journal first, and then those of the process, without a step between. */
class ResumedClock implements ProcessClock {
  private live_from_ms: number | null = null;

  constructor(
    private readonly process: Process,
    private at_ms: number,
  ) {}

  set(at_ms: number): void {
    this.at_ms = at_ms;
  }

  goLive(): void {
    this.live_from_ms = this.process.clock.monotonicMs();
  }

  wallMs(): number {
    return this.live_from_ms === null ? this.at_ms : this.process.clock.wallMs();
  }

  monotonicMs(): number {
    if (this.live_from_ms === null) return this.at_ms;
    return this.at_ms + this.process.clock.monotonicMs() - this.live_from_ms;
  }
}

/** The one store that several coordinators share, and which may be replaced by a copy that missed the last commits. */
export class SharedStore {
  incarnation = 1;
  private journal: Journaled[] = [];
  private current: Store;

  constructor(
    readonly process: Process,
    private readonly secret: string,
    private readonly tick_ms: number,
    private readonly hear: (units: readonly Unit[], outcomes: readonly Outcome[]) => void,
  ) {
    this.current = this.listen(openMemoryStore({ clock: process.clock, meta: this.meta() }));
  }

  store(): Store {
    return this.current;
  }

  get commits(): number {
    return this.journal.length;
  }

  /** A copy as it was `lost` commits ago takes over, under a new incarnation. */
  async failOver(lost: number): Promise<void> {
    this.incarnation += 1;
    const kept = this.journal.slice(0, this.journal.length - lost);
    const clock = new ResumedClock(this.process, kept[0]?.outcomes[0]?.now_ms ?? this.process.clock.wallMs());
    const copy = openMemoryStore({ clock, meta: this.meta() });
    this.journal = [];
    for (const entry of kept) {
      clock.set(entry.outcomes[0]?.now_ms ?? 0);
      await copy.commit(entry.units);
      this.journal.push(entry);
    }
    clock.goLive();
    this.current = this.listen(copy);
  }

  private meta(): StoreMeta {
    return { incarnation: this.incarnation, secret: this.secret };
  }

  /** What still reaches a store that was replaced is lost with it. */
  private listen(store: MemoryStore): Store {
    const { incarnation } = this;
    const pace = new Pace(this.process.world, this.tick_ms);
    return overheard(store, {
      committed: (units, outcomes) => {
        if (incarnation !== this.incarnation) return;
        pace.told(outcomes);
        this.journal.push({ units, outcomes });
        this.hear(units, outcomes);
      },
    });
  }
}
