import { expect, it } from 'vitest';
import { startPlannedHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

it('makes a proposal of a task that an agent adds, and a person approves or rejects the proposal', async () => {
  const { terminal } = await startPlannedHarness();
  const createKey = async (env: Record<string, string>, role: string) => {
    const { out } = await runGen(
      { ...terminal, env: { ...terminal.env, ...env } },
      'key',
      'create',
      '--role',
      role,
      '--json',
    );
    return { GENESIS_TOKEN: JSON.parse(out).token as string };
  };
  // The first key ends the open access.
  const operator = await createKey({}, 'operator');
  const terminalWithKey = (key: Record<string, string>) => ({
    ...terminal,
    env: { ...terminal.env, ...key, GENESIS_PROJECT: 'shop' },
  });
  const person = terminalWithKey(operator);
  const agent = terminalWithKey(await createKey(operator, 'agent'));
  const add = (id: string) => runGen(agent, 'task', 'add', id, '--description', 'More');
  const proposed = await add('B-002-more');
  expect(proposed).toMatchObject({
    code: 0,
    out: expect.stringMatching(/proposed as prop_\w+, which waits for a person/),
  });
  const id = /prop_[0-9a-f]{24}/.exec(proposed.out)?.[0] ?? '';
  expect((await runGen(person, 'review')).out).toMatch(new RegExp(`Proposed tasks .*\\n${id} `));
  const shown = await runGen(person, 'review', '--proposal', id);
  expect(shown.out).toContain('"id":"B-002-more"');
  expect((await runGen(agent, 'review', '--proposal', id, '--approve')).err).toContain('FORBIDDEN');
  expect((await runGen(person, 'review', '--proposal', id, '--refine')).code).toBe(2);
  const approved = await runGen(person, 'review', '--proposal', id, '--approve');
  expect(approved).toMatchObject({
    code: 0,
    out: expect.stringContaining('Approved: plan version 2, 1 added'),
  });
  expect((await runGen(person, 'task', 'show', 'B-002-more')).code).toBe(0);
  expect((await runGen(person, 'review', '--proposal', id)).err).toContain(`No proposal ${id} is pending`);
  const second = /prop_[0-9a-f]{24}/.exec((await add('B-003-other')).out)?.[0] ?? '';
  await runGen(person, 'review', '--proposal', second, '--reject', '--comment', 'not now');
  expect((await add('B-003-other')).out).toContain('which was rejected by a person: not now');
});
