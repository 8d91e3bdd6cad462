import { parentPort } from 'node:worker_threads';
import { type DocumentJob, readDocument } from './job.js';

/** A thread that reads documents, one after another, so that nothing else waits for them. */
if (parentPort !== null) {
  const port = parentPort;
  port.on('message', (job: DocumentJob) => port.postMessage({ parcel: readDocument(job) }));
  port.postMessage('ready');
}
