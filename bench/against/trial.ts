import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { OperationCost } from './meter.js';
import { NODE_FLAGS } from './run-child.js';
import type { TrialSlice } from './trial.child.js';
import type { WorkloadName } from './workloads.js';

const SCRIPT = join(import.meta.dirname, 'trial.child.ts');

/** One version in its own process, which is idle except while it measures a slice. */
export class Trial {
  private constructor(private readonly child: ChildProcess) {}

  /** Resolves when the version is warmed up. */
  static async start(dist: string, workload: WorkloadName): Promise<Trial> {
    const trial = new Trial(fork(SCRIPT, [dist, workload], { execArgv: [...NODE_FLAGS] }));
    await trial.nextMessage();
    return trial;
  }

  measure(slice: TrialSlice): Promise<OperationCost> {
    this.child.send(slice);
    return this.nextMessage();
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.disconnect();
    await exited;
  }

  private nextMessage(): Promise<OperationCost> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`The trial exited with code ${code}.`));
      this.child.once('exit', onExit);
      this.child.once('message', (message) => {
        this.child.off('exit', onExit);
        resolve(message as OperationCost);
      });
    });
  }
}
