import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FrozenTime } from '../../test/support/frozen-time.js';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { startHarness, startPlannedHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

const TASK = 'A-001-schema';

it('claims a task and submits its result with the stored handle', async () => {
  const { terminal } = await startHarness();
  expect((await runGen(terminal, 'plan', 'import', 'plan.yaml')).code).toBe(0);
  const taken = await runGen(terminal, 'next');
  expect(taken).toMatchObject({ code: 0, out: expect.stringContaining(`gen task submit ${TASK}`) });
  await writeFile(join(terminal.cwd, 'result.json'), '{"tables":3}');
  const done = await runGen(terminal, 'task', 'submit', TASK, '--file', 'result.json');
  expect(done).toMatchObject({ code: 0, out: expect.stringContaining(`wp-${TASK}-gen1-`) });
  const again = await runGen(terminal, 'task', 'submit', TASK, '--data', '1');
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('is already completed: wp-') });
  expect(again.err).toContain('by you at');
  const never = await runGen(terminal, 'task', 'submit', 'B-001-api', '--data', '1');
  expect(never.err).toContain('No handle');
});

it('grants a session its own claim again, and tells other sessions who holds the task', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', TASK);
  const repeated = await runGen(terminal, 'task', 'claim', TASK);
  expect(repeated.code).toBe(0);
  expect(repeated.out).toContain('generation 1');
  expect(repeated.out).toContain('you held it already');
  const next = JSON.parse((await runGen(terminal, 'next', '--json')).out);
  expect(next).toMatchObject({ resumed: true, claim: { task_id: TASK, generation: 1 } });
  const explained = await runGen(terminal, 'task', 'explain', TASK);
  expect(explained.out).toContain('you hold it under generation 1');
  expect(explained.out).toContain(`Submit it: gen task submit ${TASK}`);
  expect(explained.out).not.toContain('cannot be claimed');
  expect(explained.out).not.toContain(next.claim.id);
  const fresh = JSON.parse((await runGen(terminal, 'next', '--new', '--json')).out);
  expect(fresh.claim?.task_id).not.toBe(TASK);
  const elsewhere = await runGen(terminal, 'task', 'claim', TASK, '--session', 'sess-other');
  expect(elsewhere.err).toMatch(/until .* UTC, in session sess-/);
  const other = await runGen(terminal, 'task', 'claim', TASK, '--agent', 'agent-b');
  expect(other.err).toContain('Held by agent-a');
  expect(other.err).toContain('Claim another task');
});

it('repeats the options that select server, agent and session in the command it proposes', async () => {
  const { terminal, server } = await startPlannedHarness();
  const { GENESIS_URL: _, ...env } = terminal.env ?? {};
  const elsewhere = { ...terminal, env };
  const options = ['--url', server.url, '--project', 'shop', '--agent', 'agent-b', '--session', 'sess-b'];
  const { out } = await runGen(elsewhere, 'task', 'claim', TASK, ...options);
  const [, proposed = ''] = /When done: gen (.*)/.exec(out) ?? [];
  await writeFile(join(terminal.cwd, 'RESULT'), '1');
  expect(await runGen(elsewhere, ...proposed.split(' '))).toMatchObject({ code: 0 });
});

it('prints the same briefing for task claim as for next', async () => {
  const { terminal } = await startPlannedHarness();
  const next = await runGen(terminal, 'next', '--json');
  const { briefing } = JSON.parse(next.out);
  await runGen(terminal, 'task', 'release', TASK);
  const { out } = await runGen(terminal, 'task', 'claim', TASK);
  expect(briefing.description).not.toBe('');
  expect(out).toContain(briefing.description);
});

it('prints exactly the JSON of the HTTP API with --json', async () => {
  FrozenTime.begin();
  const { terminal, server } = await startPlannedHarness();
  const { out, err } = await runGen(terminal, 'next', '--json');
  const granted = JSON.parse(out);
  expect(granted).toMatchObject({ success: true, reason: 'GRANTED', claim: { id: expect.any(String) } });
  expect(err).toBe('');
  const path = '/api/tenants/default/projects/shop/status';
  const status = await (await fetch(server.url + path)).json();
  expect(JSON.parse((await runGen(terminal, 'status', '--json')).out)).toEqual(status);
  const refused = await runGen(terminal, 'task', 'claim', TASK, '--json', '--agent', 'agent-b');
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.out)).toMatchObject({ success: false, reason: 'DENIED_ACTIVE_CLAIM' });
});

it('reads a result from a file, an option or a pipe, as JSON, text or a blob', async () => {
  const { terminal, server } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', TASK);
  expect((await runGen({ ...terminal, stdin: 'plain text' }, 'task', 'submit', TASK)).code).toBe(0);
  await runGen(terminal, 'task', 'claim', 'B-001-api');
  await writeFile(join(terminal.cwd, 'image'), Buffer.from([0xff, 0xd8, 0]));
  expect((await runGen(terminal, 'task', 'submit', 'B-001-api', '--file', 'image')).code).toBe(0);
  const projectKey = { tenant_id: 'default', project_id: 'shop' };
  expect(await server.coordinator.queries.listResults(projectKey, TASK)).toMatchObject({
    results: [{ result_data: 'plain text' }],
  });
  expect(await server.coordinator.queries.listResults(projectKey, 'B-001-api')).toMatchObject({
    results: [{ blob_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
  });
});

it('refuses an empty standard input as a result, and keeps the claim', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'next');
  const empty = await runGen(terminal, 'task', 'submit', TASK);
  expect(empty).toMatchObject({ code: 2, err: expect.stringContaining('--file') });
  expect((await runGen(terminal, 'task', 'submit', TASK, '--data', '1')).code).toBe(0);
});

it('refuses a zombie’s result although its successor’s handle is in the same folder', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', TASK);
  await runGen(terminal, 'task', 'force-release', TASK, '--reason', 'it hangs');
  const successor = await runGen(terminal, 'task', 'claim', TASK, '--agent', 'agent-b', '--json');
  expect(JSON.parse(successor.out).claim.generation).toBe(2);
  const late = await runGen(terminal, 'task', 'submit', TASK, '--data', '{"by":"zombie"}');
  expect(late).toMatchObject({ code: 1, err: expect.stringContaining('STALE_GENERATION') });
  expect(late.err).toContain('kept as res_');
  const accepted = await runGen(terminal, 'task', 'submit', TASK, '--data', '1', '--agent', 'agent-b');
  expect(accepted.code).toBe(0);
  const { out } = await runGen(terminal, 'task', 'history', TASK);
  expect(out).toMatch(/1 .*agent-a.*FORCED\n2 .*agent-b.*ACCEPTED/);
  expect(out).toMatch(
    /└─ sess-\w+\/agent-a submitted at .* → STALE_GENERATION \(generation 1, current 2\), kept as res_/,
  );
});

it('adopts a parked result', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', TASK);
  await runGen(terminal, 'task', 'force-release', TASK, '--reason', 'it hangs');
  await runGen(terminal, 'task', 'claim', TASK, '--agent', 'agent-b');
  await runGen(terminal, 'task', 'submit', TASK, '--data', '1');
  await runGen(terminal, 'task', 'force-release', TASK, '--reason', 'the first was right');
  const adopted = await runGen(terminal, 'task', 'adopt', TASK, '--reason', 'the first was right');
  expect(adopted).toMatchObject({ code: 0, out: expect.stringContaining(`${TASK} is completed`) });
  expect((await runGen(terminal, 'task', 'adopt', TASK, '--reason', 'again')).code).toBe(1);
  expect((await runGen({ ...terminal, columns: 200 }, 'task', 'history', TASK)).out).toMatch(
    /Adopted results:\n {2}generation 3: parked result res_\S+ of generation 1, by sess-\w+\/agent-a\n/,
  );
});

it('exits with 1 if refused or not found, 2 on wrong usage, 3 if a person must act', async () => {
  const { terminal } = await startHarness();
  expect(await runGen(terminal, 'status')).toMatchObject({
    code: 2,
    err: expect.stringContaining('No project is set'),
  });
  await runGen(terminal, 'plan', 'import', 'plan.yaml');
  expect((await runGen(terminal, 'task', 'show', 'Z-001-nowhere')).code).toBe(1);
  expect((await runGen(terminal, 'task', 'hold', TASK)).code).toBe(2);
  expect((await runGen(terminal, 'frobnicate')).code).toBe(2);
  expect((await runGen(terminal, 'next', '--lease', 'soon')).code).toBe(2);
  expect((await runGen(terminal, 'task', 'hold', TASK, '--reason', 'wait')).code).toBe(0);
  expect(await runGen(terminal, 'task', 'claim', TASK)).toMatchObject({
    code: 3,
    err: expect.stringContaining('wait.'),
  });
  expect(await runGen(terminal, 'next')).toMatchObject({
    code: 3,
    err: expect.stringContaining('A person must act'),
  });
  expect((await runGen(terminal, 'task', 'hold', TASK, '--reason', 'Wait for Ada.')).code).toBe(0);
  expect((await runGen(terminal, 'task', 'claim', TASK)).err).toMatch(/Wait for Ada\.(?!\.)/);
  expect((await runGen(terminal, 'task', 'unhold', TASK, '--reason', 'go')).code).toBe(0);
  expect((await runGen(terminal, 'next')).code).toBe(0);
  expect((await runGen(terminal, '--help')).code).toBe(0);
  expect((await runGen(terminal, '--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it('prints the help of a subcommand for help with several words', async () => {
  const terminal = { cwd: await temporaryFolder() };
  const help = await runGen(terminal, 'help', 'task', 'submit');
  expect(help).toEqual(await runGen(terminal, 'task', 'submit', '--help'));
  expect(help).toMatchObject({ code: 0, out: expect.stringContaining('Usage: gen task submit') });
});

it('explains how to start a server if none responds', async () => {
  const { terminal, server } = await startHarness();
  await server.stop();
  const nowhere = { ...terminal, env: { ...terminal.env, GENESIS_PROJECT: 'shop' } };
  const { code, err } = await runGen(nowhere, 'status');
  expect(code).toBe(1);
  expect(err).toContain('gen up');
  expect(err).not.toContain('    at ');
});

it('renews a lease, adds a note and releases a claim with the stored handle', async () => {
  FrozenTime.begin();
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', TASK, '--lease', '10m');
  expect(await runGen(terminal, 'task', 'renew', TASK)).toMatchObject({
    code: 0,
    out: expect.stringContaining('in 10 min'),
  });
  expect((await runGen(terminal, 'task', 'note', TASK, 'the key is composite')).code).toBe(0);
  expect((await runGen(terminal, 'task', 'release', TASK, '--error', 'no access')).code).toBe(0);
  const { out } = await runGen(terminal, 'task', 'history', TASK);
  expect(out).toContain('ERROR');
  expect(await runGen(terminal, 'task', 'explain', TASK)).toMatchObject({
    out: expect.stringContaining('no access'),
  });
});

it('accepts a handle that is not stored here by --generation and --claim-id', async () => {
  const { terminal } = await startPlannedHarness();
  const { claim } = JSON.parse((await runGen(terminal, 'next', '--json')).out);
  const elsewhere = {
    ...terminal,
    env: { ...terminal.env, GENESIS_HOME: join(terminal.cwd, 'other'), GENESIS_PROJECT: 'shop' },
  };
  const handleOptions = ['--session', claim.session_id, '--generation', '1', '--claim-id', claim.id];
  expect(
    (await runGen(elsewhere, 'task', 'submit', TASK, '--data', '1', '--session', claim.session_id)).code,
  ).toBe(1);
  expect((await runGen(elsewhere, 'task', 'submit', TASK, '--data', '1', ...handleOptions)).code).toBe(0);
});

it('stores its state readable by the owner only, and starts a new session after the old one was closed', async () => {
  const { terminal, server } = await startPlannedHarness();
  const { claim } = JSON.parse((await runGen(terminal, 'next', '--json')).out);
  for (const folderName of ['handles', 'sessions']) {
    const folder = join(terminal.cwd, '.genesis', folderName);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(folder))
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  }
  await server.coordinator.sessions.close('default', claim.session_id);
  expect(await runGen(terminal, 'next')).toMatchObject({
    code: 1,
    err: expect.stringContaining('SESSION_CLOSED'),
  });
  expect((await runGen(terminal, 'next')).code).toBe(0);
});

it('adds a task, and reassigns it to another agent', async () => {
  const { terminal } = await startPlannedHarness();
  const added = await runGen(
    terminal,
    'task',
    'add',
    'C-001-docs',
    '--description',
    'Write it down',
    '--independent',
  );
  expect(added).toMatchObject({ code: 0, out: expect.stringContaining('4 tasks') });
  const to = ['--to', 'agent-b', '--to-session', 'sess-b', '--reason', 'she knows it'];
  expect(await runGen(terminal, 'task', 'reassign', 'C-001-docs', ...to)).toMatchObject({
    code: 0,
    out: expect.stringContaining('held by agent-b'),
  });
  expect((await runGen(terminal, 'task', 'reset', TASK, '--reason', 'x')).err).toContain('NOT_COMPLETED');
});
