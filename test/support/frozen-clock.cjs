const { getEnvironmentData, setEnvironmentData } = require('node:worker_threads');

/**
 * Load this file before a program, with `node --require`. The monotonic clock that the program uses for leases then
 * stands still in all its threads, until another time is written to this shared memory. Timers run in real time.
 */
const NAME = 'frozen-clock';
if (getEnvironmentData(NAME) === undefined) {
  const memory = new SharedArrayBuffer(8);
  new BigInt64Array(memory)[0] = process.hrtime.bigint();
  setEnvironmentData(NAME, memory);
}
const clock = new BigInt64Array(getEnvironmentData(NAME));
process.hrtime.bigint = () => Atomics.load(clock, 0);
