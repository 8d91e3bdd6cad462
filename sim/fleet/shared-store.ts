import type { ProcessClock } from '../../src/stores/clock.js';
import { type MemoryStore, openMemoryStore } from '../../src/stores/memory/memory-store.js';
import type { CommitOutcome, Store, StoreMeta, Transaction } from '../../src/stores/store.js';
import { ClockRateCheck } from '../checks/clock-rate.js';
import type { SimProcess } from '../world/process.js';
import { observeCommits } from './coordinator-instance.js';

interface JournalEntry {
  readonly transactions: readonly Transaction[];
  readonly outcomes: readonly CommitOutcome[];
}

/**
 * A clock that first shows the times of a journal. Once live, its wall time is that of the process, and its monotonic time
 * continues from the last time shown, without a step.
 */
class ReplayClock implements ProcessClock {
  private liveFromMs: number | null = null;

  constructor(
    private readonly process: SimProcess,
    private atMs: number,
  ) {}

  set(atMs: number): void {
    this.atMs = atMs;
  }

  goLive(): void {
    this.liveFromMs = this.process.clock.monotonicMs();
  }

  wallMs(): number {
    return this.liveFromMs === null ? this.atMs : this.process.clock.wallMs();
  }

  monotonicMs(): number {
    if (this.liveFromMs === null) return this.atMs;
    return this.atMs + this.process.clock.monotonicMs() - this.liveFromMs;
  }
}

/** The one store that several coordinators share; a copy that lacks the last commits may replace it. */
export class SharedStore {
  incarnation = 1;
  private journal: JournalEntry[] = [];
  private currentStore: Store;

  constructor(
    readonly process: SimProcess,
    private readonly secret: string,
    private readonly tickMs: number,
    private readonly onCommitted: (
      transactions: readonly Transaction[],
      outcomes: readonly CommitOutcome[],
    ) => void,
  ) {
    this.currentStore = this.observe(openMemoryStore({ clock: process.clock, meta: this.meta() }));
  }

  store(): Store {
    return this.currentStore;
  }

  get commitCount(): number {
    return this.journal.length;
  }

  /** Fails over to a replica that lacks the last `lostCommits` commits, under a new incarnation. */
  async failOver(lostCommits: number): Promise<void> {
    this.incarnation += 1;
    const keptEntries = this.journal.slice(0, this.journal.length - lostCommits);
    const clock = new ReplayClock(
      this.process,
      keptEntries[0]?.outcomes[0]?.now_ms ?? this.process.clock.wallMs(),
    );
    const copy = openMemoryStore({ clock, meta: this.meta() });
    this.journal = [];
    for (const entry of keptEntries) {
      clock.set(entry.outcomes[0]?.now_ms ?? 0);
      await copy.commit(entry.transactions);
      this.journal.push(entry);
    }
    clock.goLive();
    this.currentStore = this.observe(copy);
  }

  private meta(): StoreMeta {
    return { incarnation: this.incarnation, secret: this.secret };
  }

  /** Commits that reach a store after its replacement are lost with that store. */
  private observe(store: MemoryStore): Store {
    const { incarnation } = this;
    const clockRate = new ClockRateCheck(this.process.world, this.tickMs);
    return observeCommits(store, {
      onCommitted: (transactions, outcomes) => {
        if (incarnation !== this.incarnation) return;
        clockRate.check(outcomes);
        this.journal.push({ transactions, outcomes });
        this.onCommitted(transactions, outcomes);
      },
    });
  }
}
