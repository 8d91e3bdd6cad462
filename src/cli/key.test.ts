import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { startServer } from '../server/server.js';
import { openStoreUrl } from '../server/store-url.js';
import { startHarness, startPlannedHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

it('requires a key after the first one was created, and accepts it', async () => {
  const { terminal } = await startPlannedHarness();
  const made = await runGen(terminal, 'key', 'create', '--role', 'admin', '--label', 'mine');
  expect(made.out).toMatch(/^gck_live_\w+_[\w-]+\n$/);
  expect(await runGen(terminal, 'status')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/UNAUTHENTICATED[\s\S]*GENESIS_TOKEN/),
  });
  const withKey = { ...terminal, env: { ...terminal.env, GENESIS_TOKEN: made.out.trim() } };
  expect((await runGen(withKey, 'status')).code).toBe(0);
  expect((await runGen(withKey, 'whoami')).out).toMatch(
    /Name +mine\nRole +admin\nTenant +default\nServer +http/,
  );
  expect(JSON.parse((await runGen(withKey, 'whoami', '--json')).out)).toMatchObject({
    name: 'mine',
    role: 'admin',
  });
  const agent = JSON.parse((await runGen(withKey, 'key', 'create', '--expires', '30d', '--json')).out);
  expect(agent).toMatchObject({ role: 'agent', token: expect.stringMatching(/^gck_live_/) });
  expect((await runGen(withKey, 'key', 'revoke', agent.key_id)).code).toBe(0);
  const { out } = await runGen(withKey, 'key', 'list');
  expect(out).toMatch(new RegExp(`${agent.key_id} +agent +any +revoked`));
  expect(out).not.toContain(agent.token);
});

it('binds a key to an agent role, lists the role, and refuses another role in a claim', async () => {
  const { terminal } = await startPlannedHarness();
  const tokenOf = (out: string) => ({ ...terminal, env: { ...terminal.env, GENESIS_TOKEN: out.trim() } });
  const admin = tokenOf((await runGen(terminal, 'key', 'create', '--role', 'admin')).out);
  const created = await runGen(admin, 'key', 'create', '--agent-role', 'developer');
  expect(created.err).toContain('limited to the agent role developer');
  const { out } = await runGen(admin, 'key', 'list');
  expect(out).toMatch(/admin +any +active[\s\S]*agent +developer +active/);
  const developer = tokenOf(created.out);
  const refused = await runGen(developer, 'task', 'claim', 'A-001-core', '--role', 'human-reviewer');
  expect(refused.code).not.toBe(0);
  expect(refused.err).toMatch(/"developer"[\s\S]*"human-reviewer"/);
  expect((await runGen(admin, 'key', 'create', '--agent-role', 'two words')).err).toContain('agent_role');
});

it('creates a key in a store that no server has open, after which its server requires a key', async () => {
  const cwd = await temporaryFolder();
  const store = `file:${cwd}/log`;
  const made = await runGen({ cwd, env: {} }, 'key', 'create', '--role', 'operator', '--store', store);
  expect(made.out).toMatch(/^gck_live_/);
  const server = await startServer({ ...(await openStoreUrl(store, () => {})), port: 0 });
  onTestFinished(() => server.stop());
  expect(server.isInOpenMode).toBe(false);
  const withoutKey = { cwd, env: { GENESIS_URL: server.url } };
  expect((await runGen(withoutKey, 'key', 'list')).code).toBe(1);
  const withKey = { cwd, env: { GENESIS_URL: server.url, GENESIS_TOKEN: made.out.trim() } };
  expect((await runGen(withKey, 'key', 'list')).code).toBe(0);
  const taken = await runGen(withoutKey, 'key', 'create', '--store', store);
  expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('a log has one writer')]);
});

describe('the first key of a server', () => {
  it('is refused without a terminal if its role cannot create keys, and the server stays open', async () => {
    const { terminal, server } = await startHarness();
    const refused = await runGen(terminal, 'key', 'create');
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('role agent');
    expect(refused.err).toContain('--role admin');
    expect((await runGen(terminal, 'key', 'create', '--role', 'viewer', '--json')).code).toBe(2);
    expect(server.isInOpenMode).toBe(true);
  });

  it('is asked about at a terminal: yes creates an admin key, no creates none', async () => {
    const { terminal, server } = await startHarness();
    const atTerminal = { ...terminal, isStdinTty: true };
    const declined = await runGen({ ...atTerminal, stdin: 'n\n' }, 'key', 'create');
    expect([declined.code, declined.out, server.isInOpenMode]).toEqual([2, '', true]);
    expect((await runGen({ ...atTerminal, stdin: '' }, 'key', 'create')).code).toBe(2);
    const made = await runGen({ ...atTerminal, stdin: '\n' }, 'key', 'create', '--label', 'mine');
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^gck_live_/) });
    expect(made.err).toMatch(/role admin instead\? \[Y\/n\][\s\S]*has role admin/);
    const withKey = { ...terminal, env: { ...terminal.env, GENESIS_TOKEN: made.out.trim() } };
    expect((await runGen(withKey, 'key', 'create')).err).toContain('has role agent');
  });

  it('is also an admin key if it is created in the store', async () => {
    const cwd = await temporaryFolder();
    const store = `file:${cwd}/log`;
    const refused = await runGen({ cwd, env: {} }, 'key', 'create', '--store', store);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--role admin')]);
    expect((await runGen({ cwd, env: {} }, 'key', 'create', '--role', 'admin', '--store', store)).code).toBe(
      0,
    );
    expect((await runGen({ cwd, env: {} }, 'key', 'create', '--store', store)).code).toBe(0);
  });
});
