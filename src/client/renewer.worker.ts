import { parentPort, workerData } from 'node:worker_threads';
import { ApiClient } from './api-client.js';
import type { ApiClientOptions } from './endpoint.js';
import { Renewer, type RenewerCommand, type RenewerMessage } from './renewer.js';

/** Worker thread that only renews, so that a busy main thread costs no claim. */
if (parentPort !== null) {
  const port = parentPort;
  const say = (word: RenewerMessage) => port.postMessage(word);
  const calls = new ApiClient(workerData as ApiClientOptions);
  const renewer = new Renewer(
    (renewal) => calls.renewOnce(renewal),
    (lost, reason) => say({ lost, reason }),
  );
  port.on('message', (word: RenewerCommand) => {
    if ('keep' in word) renewer.keep(word.keep);
    else renewer.drop(word.drop);
  });
  say({ ready: true });
}
