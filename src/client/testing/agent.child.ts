import { readSync, writeSync } from 'node:fs';
import { getEnvironmentData } from 'node:worker_threads';
import { Genesis } from '../genesis.js';

/**
 * An agent in its own process. With `busy` its handler blocks the thread until it reads a dot; every other character
 * advances its frozen clock (test/support/frozen-clock.cjs) by that many seconds.
 */
const [url = '', outbox = '', leaseSeconds = '30', busy = ''] = process.argv.slice(2);

function beBusy(): void {
  const clock = new BigInt64Array(getEnvironmentData('frozen-clock') as never);
  const word = Buffer.alloc(1);
  while (readSync(0, word) === 1 && word.toString() !== '.') {
    Atomics.add(clock, 0, BigInt(Number(busy) * 1e9));
    writeSync(1, 'still busy\n');
  }
}

const genesis = new Genesis({ url, outbox, project: 'shop' });
const lease_duration_seconds = Number(leaseSeconds);
const summary = await genesis.work(
  { agent_id: 'agent-child', lease_duration_seconds },
  async (work, context) => {
    console.log(`working ${work.task_id}`);
    if (busy !== '') beBusy();
    // A turn in which every due timer fires.
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { by: 'child', held: context.held(), aborted: context.signal.aborted };
  },
);
console.log(JSON.stringify(summary));
