import type { Worker } from 'node:worker_threads';
import { startWorker } from '../../../coordinator/runtime/start-worker.js';
import type { ParsedReport, ReportFormat } from './parse-report.js';

const READ_TIMEOUT_MS = 10_000;
const START_TIMEOUT_MS = 60_000;
const MEMORY_LIMIT = { maxOldGenerationSizeMb: 1024 };

/**
 * Parses a report in a separate worker thread, which is terminated at the time limit: the command that wrote the report
 * is not trusted. Rejects only if the signal is aborted.
 */
export async function readReport(
  format: ReportFormat,
  bytes: Uint8Array,
  signal: AbortSignal,
  timeoutMs = READ_TIMEOUT_MS,
): Promise<ParsedReport> {
  signal.throwIfAborted();
  const worker = startWorker(new URL('./report.worker.js', import.meta.url), MEMORY_LIMIT);
  const stop = () => void worker.terminate();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const parsed = await replyOf(worker, { format, bytes }, timeoutMs);
    signal.throwIfAborted();
    return parsed;
  } finally {
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
}

function replyOf(worker: Worker, job: object, timeoutMs: number): Promise<ParsedReport> {
  return new Promise((resolve) => {
    const fail = (says: string): void => resolve({ says });
    let timer = setTimeout(() => fail('The thread that reads reports did not start.'), START_TIMEOUT_MS);
    worker.on('message', (message: 'ready' | ParsedReport) => {
      clearTimeout(timer);
      if (message !== 'ready') return resolve(message);
      timer = setTimeout(() => fail(`The report could not be read within ${timeoutMs / 1000} s.`), timeoutMs);
      worker.postMessage(job);
    });
    worker.once('error', (error: Error) => fail(`The report could not be read: ${error.message}.`));
    worker.once('exit', () => {
      clearTimeout(timer);
      fail('The thread that reads reports ended before it answered.');
    });
  });
}
