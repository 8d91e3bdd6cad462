import { readSync, writeSync } from 'node:fs';
import { getEnvironmentData } from 'node:worker_threads';
import { Genesis } from '../genesis.js';

/**
 * An agent in its own process. With `busySeconds` its handler blocks the thread until it reads a dot. Every other
 * character advances the agent's frozen clock (test/support/frozen-clock.cjs) by that many seconds.
 */
const [url = '', outbox = '', leaseSeconds = '30', busySeconds = ''] = process.argv.slice(2);

function blockThread(): void {
  const clock = new BigInt64Array(getEnvironmentData('frozen-clock') as never);
  const inputByte = Buffer.alloc(1);
  while (readSync(0, inputByte) === 1 && inputByte.toString() !== '.') {
    Atomics.add(clock, 0, BigInt(Number(busySeconds) * 1e9));
    writeSync(1, 'still busy\n');
  }
}

const genesis = new Genesis({ url, outbox, project: 'shop' });
const lease_duration_seconds = Number(leaseSeconds);
const summary = await genesis.work(
  { agent_id: 'agent-child', lease_duration_seconds },
  async (work, context) => {
    console.log(`working ${work.task_id}`);
    if (busySeconds !== '') blockThread();
    // Waits for a turn of the event loop in which every due timer fires.
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { by: 'child', held: context.held(), aborted: context.signal.aborted };
  },
);
console.log(JSON.stringify(summary));
