import { expect, it } from 'vitest';
import { planned } from './testing/house.js';
import { gen } from './testing/terminal.js';

it('keys close the door, and open it to who has one', async () => {
  const { setting } = await planned();
  const made = await gen(setting, 'key', 'create', '--role', 'admin', '--label', 'mine');
  expect(made.out).toMatch(/^gck_live_\w+_[\w-]+\n$/);
  expect(await gen(setting, 'status')).toMatchObject({
    code: 1,
    err: expect.stringContaining('UNAUTHENTICATED'),
  });
  const inside = { ...setting, env: { ...setting.env, GENESIS_TOKEN: made.out.trim() } };
  expect((await gen(inside, 'status')).code).toBe(0);
  const agent = JSON.parse((await gen(inside, 'key', 'create', '--expires', '30d', '--json')).out);
  expect(agent).toMatchObject({ role: 'agent', token: expect.stringMatching(/^gck_live_/) });
  expect((await gen(inside, 'key', 'revoke', agent.key_id)).code).toBe(0);
  const { out } = await gen(inside, 'key', 'list');
  expect(out).toMatch(new RegExp(`${agent.key_id} +agent +revoked`));
  expect(out).not.toContain(agent.token);
});
