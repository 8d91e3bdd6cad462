import { Child, faultIn } from './child.js';
import type { Order } from './worker.js';

/**
 * The code without any fault. Whatever kills a mutant must pass here: a run that fails on sound code too has found
 * something, but not the mutant.
 */
export class Control {
  private readonly child: Child;
  private readonly known = new Map<string, Promise<string | null>>();
  private queue: Promise<unknown> = Promise.resolve();

  constructor(script: string) {
    this.child = new Child(script);
  }

  /** Null: it passes. */
  faultOf(order: Order): Promise<string | null> {
    const name = JSON.stringify(order);
    const known = this.known.get(name) ?? this.play(order);
    this.known.set(name, known);
    return known;
  }

  end(): void {
    this.child.end();
  }

  /** One at a time: a child answers in the order in which it is asked. */
  private play(order: Order): Promise<string | null> {
    const turn = this.queue.then(async () => {
      const answer = await this.child.ask(order);
      return typeof answer === 'string' ? answer : faultIn(answer);
    });
    this.queue = turn;
    return turn;
  }
}
