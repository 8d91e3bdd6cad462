import { monitorEventLoopDelay } from 'node:perf_hooks';
import { startServer } from '../../src/server/server.js';
import { openMemoryStore } from '../../src/stores/memory/memory-store.js';

/** Runs a server that measures how long its event loop is blocked. `server.ts` starts this process and sends commands. */
const limits = {
  max_concurrent_claims: 10_000_000,
  max_active_sessions: 1_000_000,
  max_result_size_bytes: 1024 ** 3,
};
const server = await startServer({ store: openMemoryStore(), port: 0, limits });
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.send?.({ url: server.url });
process.on('disconnect', () => process.exit(0));
process.on('message', async (command) => {
  if (command === 'stop') return void server.stop().then(() => process.exit(0));
  if (command === 'reset') delay.reset();
  process.send?.({ blocked_ms: delay.max / 1e6 });
});
