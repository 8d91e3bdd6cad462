import { syncOnce } from './testing/sync-once.js';

/** Syncs once, and kills itself at the step with the given number. */
const [folder = '', office = '', diesAt = '0'] = process.argv.slice(2);
let steps = 0;
await syncOnce(folder, office, (step) => {
  steps += 1;
  if (steps !== Number(diesAt)) return;
  process.stdout.write(step);
  process.kill(process.pid, 'SIGKILL');
});
