const { getEnvironmentData, setEnvironmentData } = require('node:worker_threads');

/**
 * Required before a program (`node --require`): the monotonic clock that it counts its leases by stands still, in all
 * of its threads, until somebody writes another time into this memory. Timers go on by real time.
 */
const NAME = 'frozen-clock';
if (getEnvironmentData(NAME) === undefined) {
  const memory = new SharedArrayBuffer(8);
  new BigInt64Array(memory)[0] = process.hrtime.bigint();
  setEnvironmentData(NAME, memory);
}
const clock = new BigInt64Array(getEnvironmentData(NAME));
process.hrtime.bigint = () => Atomics.load(clock, 0);
