import { startServer } from '../../server/server.js';
import { openStoreUrl } from '../../server/store-url.js';

/** A server on a folder: prints its port and runs until it is killed. */
const [root = '', port = '0'] = process.argv.slice(2);
const { store, blobs } = await openStoreUrl(`file:${root}`, () => {});
const server = await startServer({
  store,
  blobs,
  port: Number(port),
  limits: { min_lease_duration_seconds: 1 },
});
console.log(server.port);
