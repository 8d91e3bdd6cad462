import type { Limits } from '../../src/core/claims/policy.js';
import { startServer } from '../../src/server/server.js';
import { openStoreUrl } from '../../src/server/store-url.js';

/** Settings of a coordinator process, which runs until it is told to stop, is killed, or loses its parent. */
export interface CoordinatorSettings {
  readonly store: string;
  readonly port: number;
  readonly limits: Limits;
}

const { store: url, port, limits } = JSON.parse(process.argv[2] ?? '') as CoordinatorSettings;
process.once('disconnect', () => process.exit(0));
const openedStore = await openStoreUrl(url, (sentence) => process.stderr.write(`${sentence}\n`));
const server = await startServer({ ...openedStore, port, limits });
process.once('message', async () => {
  await server.stop();
  process.exit(0);
});
process.send?.(server.port);
