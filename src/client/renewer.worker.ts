import { parentPort, workerData } from 'node:worker_threads';
import { ApiClient } from './api-client.js';
import type { ApiClientOptions } from './endpoint.js';
import { Renewer, type RenewerCommand, type RenewerMessage } from './renewer.js';

/** Worker thread that only renews, so that a busy main thread costs no claim. */
if (parentPort !== null) {
  const port = parentPort;
  const postToMain = (message: RenewerMessage) => port.postMessage(message);
  const client = new ApiClient(workerData as ApiClientOptions);
  const renewer = new Renewer(
    (renewal) => client.renewOnce(renewal),
    (lost, reason) => postToMain({ lost, reason }),
  );
  port.on('message', (command: RenewerCommand) => renewer.execute(command));
  postToMain({ ready: true });
}
