import type { ResourceLimits, Worker } from 'node:worker_threads';
import { startWorker } from '../runtime/start-worker.js';
import type { DocumentJob, ParsedDocument } from './job.js';

/** A thread's reply: the parsed document, or the limit that stopped it. */
type ThreadReply = { readonly document: ParsedDocument } | { readonly stopped: 'time' | 'memory' };

/** The thread did not start, for example in a bundle that lacks the worker's file. */
export class ThreadStartError extends Error {
  override readonly name = 'ThreadStartError';
}

/** A worker thread that reads one document at a time. It is ended when a document exceeds the time or memory limit. */
export class DocumentThread {
  private readonly worker: Worker;
  private readonly started: Promise<void>;

  constructor(limits: ResourceLimits) {
    this.worker = startWorker(new URL('./document.worker.js', import.meta.url), limits);
    // The thread must not keep the process alive; a caller waiting for a reply does.
    this.worker.unref();
    this.started = new Promise((resolve, reject) => {
      this.worker.once('message', () => resolve());
      this.worker.once('error', (error: Error) => reject(new ThreadStartError(error.message)));
      this.worker.once('exit', () => reject(new ThreadStartError('it exited')));
    });
    this.started.catch(() => {});
  }

  async read(job: DocumentJob, msMax: number): Promise<ThreadReply> {
    await this.started;
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        clearTimeout(timer);
        this.worker.off('message', onReply).off('error', onError).off('exit', onExit);
        done();
      };
      const onReply = (reply: ThreadReply): void => settle(() => resolve(reply));
      const onExit = (): void => settle(() => reject(new Error('the document thread exited')));
      const onError = (error: Error & { code?: string }): void => {
        const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
        settle(() => (isMemory ? resolve({ stopped: 'memory' }) : reject(error)));
      };
      const timer = setTimeout(() => settle(() => resolve({ stopped: 'time' })), msMax);
      this.worker.on('message', onReply).on('error', onError).on('exit', onExit);
      this.worker.postMessage(job);
    });
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}
