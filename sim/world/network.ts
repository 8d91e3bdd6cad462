import type { SimProcess } from './process.js';
import type { Rng } from './rng.js';
import type { SimWorld } from './world.js';

interface NetworkFaults {
  loss_chance: number;
  double_chance: number;
  /** Chance that a message takes much longer than usual, and so arrives after later messages. */
  delay_chance: number;
  delay_max_ms: number;
}

/**
 * The network between agents and coordinators: loses, delays, duplicates and reorders messages, and partitions agents.
 */
export class Network {
  private readonly partitionedUntilMs = new Map<string, number>();

  constructor(
    private readonly world: SimWorld,
    readonly faults: NetworkFaults,
    private readonly rng: Rng,
  ) {}

  /** Delivers in the receiver's process, once, twice or never. */
  send(route: { agent: string; to: SimProcess }, label: string, deliver: () => void): void {
    if (this.isPartitioned(route.agent) || this.rng.chance(this.faults.loss_chance)) {
      this.world.trace(`lost: ${label}`);
      return;
    }
    const copies = this.rng.chance(this.faults.double_chance) ? 2 : 1;
    const firstMs = this.delayMs();
    for (let copy = 0; copy < copies; copy += 1) {
      // Duplicates often arrive together, and so in the same batch.
      const isTogether = copy === 0 || this.rng.chance(0.5);
      route.to.runAfter(isTogether ? firstMs : this.delayMs(), label, deliver);
    }
  }

  partition(agent: string, durationMs: number): void {
    this.world.trace(`${agent} is cut off for ${Math.round(durationMs)} ms`);
    this.partitionedUntilMs.set(agent, this.world.now_ms + durationMs);
  }

  private isPartitioned(agent: string): boolean {
    return this.world.now_ms < (this.partitionedUntilMs.get(agent) ?? 0);
  }

  private delayMs(): number {
    const usualMs = this.rng.between(0.5, 20);
    return this.rng.chance(this.faults.delay_chance)
      ? this.rng.between(20, this.faults.delay_max_ms)
      : usualMs;
  }
}
