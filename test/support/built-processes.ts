import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { inject, vi } from 'vitest';

/**
 * Processes and worker threads that the code under test starts run the built program: from source, each would spend
 * seconds on compiling TypeScript.
 */
const SOURCE = join(import.meta.dirname, '..', '..', 'src');
const builtFile = (file: URL): string =>
  join(inject('built'), 'dist', relative(SOURCE, fileURLToPath(file)).replace(/\.ts$/, '.js'));

vi.mock('../../src/cli/self.js', async (load) => ({
  ...(await load<typeof import('../../src/cli/self.js')>()),
  selfCommand: () => [process.execPath, join(inject('built'), 'dist', 'cli', 'main.js')],
}));

vi.mock('../../src/coordinator/runtime/start-worker.js', () => ({
  startWorker: (file: URL, resourceLimits: object) =>
    new Worker(pathToFileURL(builtFile(file)), { resourceLimits }),
}));

vi.mock('../../src/client/renewer-thread.js', () => ({
  startRenewerThread: (workerData: object) =>
    new Worker(pathToFileURL(join(inject('built'), 'dist', 'client', 'renewer.worker.js')), { workerData }),
}));
