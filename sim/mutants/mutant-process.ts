import { type ChildProcess, fork } from 'node:child_process';
import type { TrialJob, TrialReport } from './worker.js';

export type TrialReply = TrialReport | 'hung' | 'crashed';

/** For what hangs: what takes a second on an idle machine has taken more than a minute on a busy one. */
const ANSWER_MS_MAX = 10 * 60_000;

/** A process of its own for one bundle, since a simulation takes the clock away from the whole process. */
export class MutantProcess {
  private readonly process: ChildProcess;

  constructor(script: string) {
    this.process = fork(script, { execArgv: ['--max-semi-space-size=64'], stdio: 'ignore' });
  }

  run(job: TrialJob): Promise<TrialReply> {
    const { process } = this;
    return new Promise((resolve) => {
      const onExit = (): void => done('crashed');
      const timer = setTimeout(() => done('hung'), ANSWER_MS_MAX);
      const done = (reply: TrialReply): void => {
        clearTimeout(timer);
        process.off('exit', onExit);
        process.off('message', done);
        resolve(reply);
      };
      process.once('exit', onExit);
      process.once('message', done);
      process.send(job);
    });
  }

  end(): void {
    this.process.kill('SIGKILL');
  }
}

/** What was found wrong; null: nothing. */
export function violationIn(report: TrialReport): string | null {
  return 'thrown' in report ? `exception: ${report.thrown}` : report.violation;
}
