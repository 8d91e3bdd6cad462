import { type ChildProcess, fork } from 'node:child_process';
import type { TrialJob, TrialReport } from './worker.js';

type TrialReply = TrialReport | 'hung' | 'crashed';

/** Timeout for a hanging job: what takes a second on an idle machine has taken more than a minute on a busy one. */
const REPLY_TIMEOUT_MS = 10 * 60_000;

/** One process per bundle, since a simulation replaces the clock of the whole process. */
export class MutantProcess {
  private readonly process: ChildProcess;

  constructor(script: string) {
    this.process = fork(script, { execArgv: ['--max-semi-space-size=64'], stdio: 'ignore' });
  }

  run(job: TrialJob): Promise<TrialReply> {
    const { process } = this;
    return new Promise((resolve) => {
      const onExit = (): void => onReply('crashed');
      const timer = setTimeout(() => onReply('hung'), REPLY_TIMEOUT_MS);
      const onReply = (reply: TrialReply): void => {
        clearTimeout(timer);
        process.off('exit', onExit);
        process.off('message', onReply);
        resolve(reply);
      };
      process.once('exit', onExit);
      process.once('message', onReply);
      process.send(job);
    });
  }

  end(): void {
    this.process.kill('SIGKILL');
  }
}

/** The violation or exception in a report; null if there is none. */
export function violationIn(report: TrialReport): string | null {
  return 'thrown' in report ? `exception: ${report.thrown}` : report.violation;
}
