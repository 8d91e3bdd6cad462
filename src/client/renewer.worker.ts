import { parentPort, workerData } from 'node:worker_threads';
import { Calls } from './calls.js';
import type { CallsOptions } from './endpoint.js';
import { type FromRenewer, Renewer, type ToRenewer } from './renewer.js';

/** A thread that does nothing but renew, so that whatever keeps the main thread busy costs no claim. */
if (parentPort !== null) {
  const port = parentPort;
  const say = (word: FromRenewer) => port.postMessage(word);
  const calls = new Calls(workerData as CallsOptions);
  const renewer = new Renewer(
    (renewal) => calls.renewAlone(renewal),
    (lost, reason) => say({ lost, reason }),
  );
  port.on('message', (word: ToRenewer) => {
    if ('keep' in word) renewer.keep(word.keep);
    else renewer.drop(word.drop);
  });
  say({ ready: true });
}
