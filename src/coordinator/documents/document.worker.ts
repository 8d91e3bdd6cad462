import { parentPort } from 'node:worker_threads';
import { type DocumentJob, readDocument } from './job.js';

/** Worker thread that parses documents one after another, off the event loop. */
if (parentPort !== null) {
  const port = parentPort;
  port.on('message', (job: DocumentJob) => port.postMessage({ document: readDocument(job) }));
  port.postMessage('ready');
}
