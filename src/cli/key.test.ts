import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../server/server.js';
import { openStoreUrl } from '../server/store-url.js';
import { startPlannedHarness, temporaryFolder } from './testing/cli-harness.js';
import { gen } from './testing/terminal.js';

it('requires a key after the first one was created, and accepts it', async () => {
  const { terminal } = await startPlannedHarness();
  const made = await gen(terminal, 'key', 'create', '--role', 'admin', '--label', 'mine');
  expect(made.out).toMatch(/^gck_live_\w+_[\w-]+\n$/);
  expect(await gen(terminal, 'status')).toMatchObject({
    code: 1,
    err: expect.stringContaining('UNAUTHENTICATED'),
  });
  const inside = { ...terminal, env: { ...terminal.env, GENESIS_TOKEN: made.out.trim() } };
  expect((await gen(inside, 'status')).code).toBe(0);
  const agent = JSON.parse((await gen(inside, 'key', 'create', '--expires', '30d', '--json')).out);
  expect(agent).toMatchObject({ role: 'agent', token: expect.stringMatching(/^gck_live_/) });
  expect((await gen(inside, 'key', 'revoke', agent.key_id)).code).toBe(0);
  const { out } = await gen(inside, 'key', 'list');
  expect(out).toMatch(new RegExp(`${agent.key_id} +agent +revoked`));
  expect(out).not.toContain(agent.token);
});

it('creates a key in a store that no server has open, after which its server requires a key', async () => {
  const cwd = await temporaryFolder();
  const store = `file:${cwd}/log`;
  const made = await gen({ cwd, env: {} }, 'key', 'create', '--role', 'operator', '--store', store);
  expect(made.out).toMatch(/^gck_live_/);
  const server = await startServer({ ...(await openStoreUrl(store, () => {})), port: 0 });
  onTestFinished(() => server.stop());
  expect(server.isInOpenMode).toBe(false);
  const outside = { cwd, env: { GENESIS_URL: server.url } };
  expect((await gen(outside, 'key', 'list')).code).toBe(1);
  const inside = { cwd, env: { GENESIS_URL: server.url, GENESIS_TOKEN: made.out.trim() } };
  expect((await gen(inside, 'key', 'list')).code).toBe(0);
  const taken = await gen(outside, 'key', 'create', '--store', store);
  expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('a log has one writer')]);
});
