import { MutantProcess, violationIn } from './mutant-process.js';
import type { TrialJob } from './worker.js';

/**
 * Repeats, on the unmodified code, the runs that fail on a mutant. A run that fails here too has not detected the mutant.
 */
export class Baseline {
  private readonly child: MutantProcess;
  private readonly results = new Map<string, Promise<string | null>>();
  private queue: Promise<unknown> = Promise.resolve();

  constructor(script: string) {
    this.child = new MutantProcess(script);
  }

  /** Null if the run passes. */
  violationOf(job: TrialJob): Promise<string | null> {
    const name = JSON.stringify(job);
    const result = this.results.get(name) ?? this.enqueue(job);
    this.results.set(name, result);
    return result;
  }

  end(): void {
    this.child.end();
  }

  /** Runs one job at a time, because a reply does not name its job. */
  private enqueue(job: TrialJob): Promise<string | null> {
    const turn = this.queue.then(async () => {
      const reply = await this.child.run(job);
      return typeof reply === 'string' ? reply : violationIn(reply);
    });
    this.queue = turn;
    return turn;
  }
}
