import type { Process } from './process.js';
import type { Rng } from './rng.js';
import type { World } from './world.js';

export interface NetworkFaults {
  loss_chance: number;
  double_chance: number;
  /** Of a message that takes much longer than others, and so comes after those sent later. */
  delay_chance: number;
  delay_max_ms: number;
}

/** Between agents and coordinators: messages are lost, late, doubled and out of order, and agents are cut off. */
export class Network {
  private readonly cut_until_ms = new Map<string, number>();

  constructor(
    private readonly world: World,
    readonly faults: NetworkFaults,
    private readonly rng: Rng,
  ) {}

  /** Delivers in the process of the receiver, once, twice or never. */
  send(between: { agent: string; to: Process }, label: string, deliver: () => void): void {
    if (this.isCut(between.agent) || this.rng.chance(this.faults.loss_chance)) {
      this.world.trace(`lost: ${label}`);
      return;
    }
    const copies = this.rng.chance(this.faults.double_chance) ? 2 : 1;
    const first_ms = this.delayMs();
    for (let copy = 0; copy < copies; copy += 1) {
      // Doubles often come together, and so into the same batch.
      const isTogether = copy === 0 || this.rng.chance(0.5);
      between.to.after(isTogether ? first_ms : this.delayMs(), label, deliver);
    }
  }

  cutOff(agent: string, for_ms: number): void {
    this.world.trace(`${agent} is cut off for ${Math.round(for_ms)} ms`);
    this.cut_until_ms.set(agent, this.world.now_ms + for_ms);
  }

  private isCut(agent: string): boolean {
    return this.world.now_ms < (this.cut_until_ms.get(agent) ?? 0);
  }

  private delayMs(): number {
    const usual_ms = this.rng.between(0.5, 20);
    return this.rng.chance(this.faults.delay_chance)
      ? this.rng.between(20, this.faults.delay_max_ms)
      : usual_ms;
  }
}
