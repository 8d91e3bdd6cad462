import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { type ResourceLimits, Worker } from 'node:worker_threads';

/** Starts a worker thread. `file` is the URL of its module as built, such as `verify.worker.js`. */
export function startWorker(file: URL, resourceLimits: ResourceLimits): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  if (!isSource) return new Worker(file, { resourceLimits });
  // Running from source: a worker thread does not inherit the main thread's TypeScript loader.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm'));
  const tsxApi = new URL('./api/index.mjs', tsx);
  const source = file.href.replace(/\.js$/, '.ts');
  const script = `import('${tsxApi}').then((tsx) => { tsx.register(); return import('${source}'); })`;
  return new Worker(script, { eval: true, execArgv: [], resourceLimits });
}
