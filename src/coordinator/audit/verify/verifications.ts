import type { Worker } from 'node:worker_threads';
import type { LogVerification } from '../../../core/contract/audit.js';
import { adviceFor } from '../../../core/contract/codes.js';
import type { ProjectKey } from '../../../stores/store.js';
import { startWorker } from '../../runtime/start-worker.js';
import { catchStoreErrors, type Problem, problem } from '../../wire/problem.js';
import { projectKeyProblem } from '../../wire/project-key.js';
import type { LogReport } from './log-verifier.js';
import type { StoreAnswer, StoreRead } from './verify.worker.js';
import type { VerifiedStore } from './verify-store.js';

/** A longer verification is stopped. The command `gen verify` has no such limit. */
const VERIFICATION_MS_MAX = 10 * 60_000;
const WORKER_MEMORY = { maxOldGenerationSizeMb: 512 };

type WorkerMessage =
  | { readonly read: StoreRead }
  | { readonly report: LogReport }
  | { readonly failed: string };

/** Verifies logs in a worker thread, one at a time because each verification reads a whole log. */
export class Verifications {
  private isBusy = false;

  constructor(private readonly store: VerifiedStore) {}

  /** Replays the log of a project. Stops when the signal is aborted. */
  async run(projectKey: ProjectKey, signal: AbortSignal): Promise<LogVerification | Problem> {
    const keyProblem = projectKeyProblem(projectKey);
    if (keyProblem !== null) return keyProblem;
    if (this.isBusy)
      return problem(
        'UNAVAILABLE',
        'Another verification is running on this server. Try again when it has ended.',
      );
    this.isBusy = true;
    try {
      return await catchStoreErrors(() => this.verify(projectKey, signal));
    } finally {
      this.isBusy = false;
    }
  }

  private async verify(projectKey: ProjectKey, signal: AbortSignal): Promise<LogVerification | Problem> {
    if ((await this.store.project(projectKey)) === null)
      return problem(
        'UNKNOWN_PROJECT',
        `There is no project ${projectKey.project_id}. ${adviceFor('UNKNOWN_PROJECT')}`,
      );
    const stopSignal = AbortSignal.any([signal, AbortSignal.timeout(VERIFICATION_MS_MAX)]);
    const worker = startWorker(new URL('./verify.worker.js', import.meta.url), WORKER_MEMORY);
    const stopWorker = () => void worker.terminate();
    stopSignal.addEventListener('abort', stopWorker, { once: true });
    try {
      const report = await this.reportOf(worker, projectKey);
      if (report === null)
        return problem(
          'UNAVAILABLE',
          'The verification was stopped before its end. Run gen verify on the server.',
        );
      const { events, subjects, checkpoints, covered_position, signatures, breaks, notes } = report;
      const isValid = breaks.length === 0;
      return {
        is_valid: isValid,
        events,
        subjects,
        checkpoints,
        covered_position,
        signatures,
        breaks,
        notes,
      };
    } finally {
      stopSignal.removeEventListener('abort', stopWorker);
      await worker.terminate();
    }
  }

  /** The report of the worker; null if the thread ends without one. */
  private reportOf(worker: Worker, projectKey: ProjectKey): Promise<LogReport | null> {
    return new Promise((resolve, reject) => {
      worker.once('exit', () => resolve(null));
      worker.once('error', () => resolve(null));
      worker.on('message', (message: WorkerMessage) => {
        if ('report' in message) resolve(message.report);
        else if ('failed' in message) reject(new Error(message.failed));
        else void this.answerRead(message.read).then((answer) => worker.postMessage(answer));
      });
      worker.postMessage(projectKey);
    });
  }

  private async answerRead({ method, args }: StoreRead): Promise<StoreAnswer> {
    try {
      const read = this.store[method] as (...values: readonly unknown[]) => Promise<unknown>;
      return { value: await read.apply(this.store, [...args]) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }
}
