const { syncBuiltinESMExports } = require('node:module');
const timers = require('node:timers/promises');

/**
 * Required before a program (`node --require`): its clocks stand still, save that whoever sleeps wakes up at once and
 * finds that the time has passed. What it does then takes no time at all, on any machine.
 */
const [wallMs, monotonicMs] = [Date.now(), performance.now()];
let sleptMs = 0;
Date.now = () => wallMs + sleptMs;
performance.now = () => monotonicMs + sleptMs;
timers.setTimeout = async (ms, value) => {
  sleptMs += ms;
  return value;
};
syncBuiltinESMExports();
