import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { startPlannedHarness } from '../src/cli/testing/cli-harness.js';
import { plainScript } from './support/plain-script.js';
import { temporaryFolder } from './support/temporary-folder.js';

const run = promisify(execFile);
const EXAMPLE = 'examples/claude-code';
const TASK_IDS = ['A-001-schema', 'A-002-index', 'A-002-index::1', 'A-002-index::2', 'B-001-api'];

/** Installs `gen` as a link to the program, as npm does. */
async function installGen(): Promise<{ cwd: string; env: Record<'PATH' | 'HOME', string> }> {
  const cwd = await temporaryFolder();
  const bin = join(cwd, 'bin');
  await mkdir(bin);
  const program = join(inject('built'), 'dist/cli/main.js');
  await chmod(program, 0o755);
  await symlink(program, join(bin, 'gen'));
  return { cwd, env: { PATH: `${bin}:${process.env.PATH}`, HOME: cwd } };
}

const configuration = async (folder: string): Promise<unknown> =>
  JSON.parse(await readFile(join(folder, '.mcp.json'), 'utf8'));

const play = async (cwd: string, env: Record<string, string>) =>
  run(process.execPath, [await plainScript(`${EXAMPLE}/play.ts`), cwd], { env });

test('the example has the configuration that gen setup writes', async () => {
  const { cwd, env } = await installGen();
  await run('gen', ['setup', 'claude', '--project', 'shop'], { cwd, env });
  expect(await configuration(EXAMPLE)).toEqual(await configuration(cwd));
});

test('an MCP client that remembers only the last reply completes a whole plan', async () => {
  const { server } = await startPlannedHarness();
  const { cwd, env } = await installGen();
  await run('gen', ['setup', 'claude', '--project', 'shop', '--url', server.url], { cwd, env });
  const { stdout } = await play(cwd, env);
  for (const taskId of TASK_IDS) expect(stdout).toContain(`${taskId} generation 1: ACCEPTED`);
  expect(stdout).toContain('the plan is done');
  const projectKey = { tenant_id: 'default', project_id: 'shop' };
  expect(await server.coordinator.queries.status(projectKey)).toMatchObject({
    total: { completed: 5, pending: 0 },
  });
});

test('the example exits with code 1 if the plan is not completed', async () => {
  const { server } = await startPlannedHarness();
  const projectKey = { tenant_id: 'default', project_id: 'shop' };
  const other = { task_id: 'A-001-schema', agent_id: 'other', session_id: 'theirs' };
  await server.coordinator.claims.claimTask(projectKey, other);
  const { cwd, env } = await installGen();
  await run('gen', ['setup', 'claude', '--project', 'shop', '--url', server.url], { cwd, env });
  await expect(play(cwd, env)).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('not done'),
  });
});
