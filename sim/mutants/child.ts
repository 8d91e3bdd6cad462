import { type ChildProcess, fork } from 'node:child_process';
import type { Order, Report } from './worker.js';

export type Answer = Report | 'hung' | 'crashed';

/** For what hangs: what takes a second on an idle machine has taken more than a minute on a busy one. */
const ANSWER_MS_MAX = 10 * 60_000;

/** A process of its own for one bundle, since a simulation takes the clock away from the whole process. */
export class Child {
  private readonly process: ChildProcess;

  constructor(script: string) {
    this.process = fork(script, { execArgv: ['--max-semi-space-size=64'], stdio: 'ignore' });
  }

  ask(order: Order): Promise<Answer> {
    const { process } = this;
    return new Promise((resolve) => {
      const onExit = (): void => done('crashed');
      const timer = setTimeout(() => done('hung'), ANSWER_MS_MAX);
      const done = (answer: Answer): void => {
        clearTimeout(timer);
        process.off('exit', onExit);
        process.off('message', done);
        resolve(answer);
      };
      process.once('exit', onExit);
      process.once('message', done);
      process.send(order);
    });
  }

  end(): void {
    this.process.kill('SIGKILL');
  }
}

/** What was found wrong; null: nothing. */
export function faultIn(answer: Report): string | null {
  return 'thrown' in answer ? `exception: ${answer.thrown}` : answer.violation;
}
