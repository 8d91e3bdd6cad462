import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { startPlannedHarness } from './testing/cli-harness.js';
import { runGen, startCommand } from './testing/terminal.js';
import { createProject, FEATURE_ID } from './testing/workspace.js';

const READING_COMMANDS = [
  'plan check plan.yaml',
  'plan show',
  'task show A-001-schema',
  'task history A-001-schema',
  'task explain A-001-schema',
  'status',
  'agents',
  'sessions',
  'events',
  'key list',
];

it('prints only JSON on standard output for every reading command with --json', async () => {
  const { terminal } = await startPlannedHarness();
  const env = { ...terminal.env, HOME: terminal.cwd, PATH: '' };
  await runGen(terminal, 'next');
  for (const line of [...READING_COMMANDS, 'setup claude', 'setup claude --undo']) {
    const { code, out } = await runGen({ ...terminal, env }, ...line.split(' '), '--json');
    expect({ line, code }).toEqual({ line, code: 0 });
    expect(JSON.parse(out), line).toBeTypeOf('object');
  }
});

it('prints JSON lines with --watch --json', async () => {
  const { terminal } = await startPlannedHarness();
  const watching = startCommand(terminal, 'status', '--watch', '--json');
  const text = await watching.waitForOutput('\n');
  watching.stop('SIGINT');
  expect((await watching.ended).code).toBe(0);
  expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ total: { completed: 0 } });
});

it.each(['notaurl', 'http://', 'ftp://127.0.0.1', 'http://a b', ' ', 'https:'])(
  'exits with 2 for the server URL %j, and names --url and GENESIS_URL',
  async (url) => {
    const cwd = await temporaryFolder();
    const byOption = await runGen({ cwd }, 'status', '--project', 'shop', '--url', url, '--json');
    expect(byOption).toMatchObject({ code: 2, err: expect.stringMatching(/--url[\s\S]*GENESIS_URL/) });
    expect(JSON.parse(byOption.out)).toMatchObject({ code: 'WRONG_USAGE' });
    const byVariable = await runGen({ cwd, env: { GENESIS_URL: url } }, 'key', 'list');
    expect(byVariable.code).toBe(2);
  },
);

const UNREACHABLE_URL = 'http://127.0.0.1:2';
const FAILURES: readonly (readonly [line: string, code: string])[] = [
  ['serialise', 'NO_WORKSPACE'],
  ['gaps', 'NO_WORKSPACE'],
  ['plan check none.yaml', 'FILE_UNREADABLE'],
  ['import none.jsonl --store memory:', 'FILE_UNREADABLE'],
  [`status --url ${UNREACHABLE_URL} --project shop`, 'UNREACHABLE'],
  ['export --project p --store nowhere:', 'STORE_REFUSED'],
  ['status --never-heard-of', 'WRONG_USAGE'],
  ['task show', 'WRONG_USAGE'],
  ['plan show', 'WRONG_USAGE'],
];

it('prints a local failure as a JSON object in the shape of a server’s problem', async () => {
  const cwd = await temporaryFolder();
  for (const [line, code] of FAILURES) {
    const reply = await runGen({ cwd }, ...line.split(' '), '--json');
    expect(reply.code, line).toBe(code === 'WRONG_USAGE' ? 2 : 1);
    expect(JSON.parse(reply.out), line).toMatchObject({ code, detail: expect.any(String), status: 0 });
  }
});

it('exits with 2 on an invalid value, whether the client or the server detects it', async () => {
  const { terminal } = await startPlannedHarness();
  for (const each of [terminal, await createProject()]) {
    const claimed = await runGen(
      each,
      'task',
      'claim',
      `${FEATURE_ID}#design_code`,
      '--role',
      'x'.repeat(500),
      '--json',
    );
    expect(JSON.parse(claimed.out)).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(claimed.code).toBe(2);
  }
  const lease = await runGen(terminal, 'task', 'claim', 'A-001-schema', '--lease', '9999999', '--json');
  expect([JSON.parse(lease.out).code, lease.code]).toEqual(['INVALID_LEASE', 2]);
  const checkpoint = await runGen(
    await createProject(),
    'checkpoint',
    '--message',
    'x'.repeat(100_000),
    '--json',
  );
  expect([JSON.parse(checkpoint.out).code, checkpoint.code]).toEqual(['INVALID_REQUEST', 2]);
});
