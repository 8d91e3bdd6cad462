import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { ApiClientOptions } from './endpoint.js';

/** The thread that renews leases while the main thread is busy. */
export function startRenewerThread(workerData: ApiClientOptions): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  if (!isSource) return new Worker(new URL('./renewer.worker.js', import.meta.url), { workerData });
  // Running from source: a worker thread does not inherit the main thread's TypeScript loader.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm'));
  const [loaderUrl, workerUrl] = [
    new URL('./api/index.mjs', tsx),
    new URL('./renewer.worker.ts', import.meta.url),
  ];
  const script = `import('${loaderUrl}').then((tsx) => { tsx.register(); return import('${workerUrl}'); })`;
  return new Worker(script, { eval: true, execArgv: [], workerData });
}
