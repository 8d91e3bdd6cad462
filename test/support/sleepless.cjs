const { syncBuiltinESMExports } = require('node:module');
const timers = require('node:timers/promises');

/**
 * Load this file before a program, with `node --require`. Its clocks then stand still, except that a sleep returns at
 * once and advances the clocks by its duration. Other work takes no time, on any machine.
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
