import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { Genesis } from '../src/client/index.js';
import { expectNoProblem, planTextOf } from '../src/client/testing/client-harness.js';
import { storeTests } from '../src/stores/conformance/suite.js';

const run = promisify(execFile);
const LARGE = Buffer.from(JSON.stringify('x'.repeat(300_000)));
const blob_sha256 = createHash('sha256').update(LARGE).digest('hex');
const EXAMPLES = ['log-store', 'shared-store'];

/** The examples inside the built package, which they import by its name as they do in a project that installs it. */
let examples: string;

beforeAll(async () => {
  examples = await mkdtemp(join(inject('built'), 'stores-'));
  await cp('examples/stores', examples, { recursive: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'custom-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const programPath = (): string => join(inject('built'), 'dist/cli/main.js');

const environment = (home: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GENESIS_'))),
  GENESIS_HOME: home,
});

/** Starts a server on a store, in a separate process. */
async function serve(cwd: string, store: string): Promise<{ genesis: Genesis; stop: () => Promise<void> }> {
  const args = [programPath(), 'up', '--json', '--port', '0', '--store', store];
  const child = spawn(process.execPath, args, {
    cwd,
    env: environment(cwd),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill();
    await exited;
  };
  onTestFinished(stop);
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const failed = exited.then(() => {
    throw new Error(`The server exited: ${errors}`);
  });
  failed.catch(() => {});
  const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), failed])) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return { genesis: new Genesis({ url, project: 'shop' }), stop };
}

describe.each(EXAMPLES)('examples/stores/%s.mjs', (kind) => {
  // req: STO-005
  test('passes the conformance suite', async () => {
    const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', `${kind}.test.mjs`], {
      cwd: examples,
      maxBuffer: 64 * 1024 * 1024,
    });
    const count = storeTests({ open: () => Promise.reject(new Error('not opened')) }).length;
    expect(count).toBeGreaterThan(100);
    expect(stdout).toContain(`\n# pass ${count}\n# fail 0\n`);
  });

  test('serves gen up, and has the accepted result after a restart', async () => {
    const cwd = await newFolder();
    const store = `module:${join(examples, `${kind}.mjs`)}?folder=${encodeURIComponent(join(cwd, 'data'))}`;
    const first = await serve(cwd, store);
    expectNoProblem(await first.genesis.putPlan(planTextOf({ A: 1 })));
    const handle = { task_id: 'A-001-part', session_id: 'sess-1' };
    const { claim } = expectNoProblem(await first.genesis.claimTask({ ...handle, agent_id: 'alice' }));
    if (claim === null) throw new Error('The task was not granted.');
    const { generation, id: claim_id } = claim;
    expectNoProblem(await first.genesis.putBlob(blob_sha256, LARGE));
    const submission = { ...handle, generation, claim_id, blob_sha256 };
    expect(await first.genesis.submitResult(submission)).toMatchObject({ reason: 'ACCEPTED' });
    await first.stop();
    const second = await serve(cwd, store);
    expect(await second.genesis.task('A-001-part')).toMatchObject({ phase: 'COMPLETED' });
    expect(Buffer.from(expectNoProblem(await second.genesis.getBlob(blob_sha256)))).toEqual(LARGE);
    await second.stop();
    const { stdout } = await run(process.execPath, [programPath(), 'verify', store, '--json'], {
      cwd,
      env: environment(cwd),
    });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, logs: [{ project_id: 'shop' }] });
  });

  test('is quoted unchanged in docs/custom-stores.md', async () => {
    const shown = await readFile('docs/custom-stores.md', 'utf8');
    expect(shown).toContain(`\`\`\`js\n${await readFile(`examples/stores/${kind}.mjs`, 'utf8')}\`\`\``);
  });
});

// req: STO-014
test('two servers on the shared example never grant a task twice', async () => {
  const cwd = await newFolder();
  const store = `module:${join(examples, 'shared-store.mjs')}?folder=${encodeURIComponent(join(cwd, 'data'))}`;
  const servers = [await serve(cwd, store), await serve(cwd, store)];
  expectNoProblem(await servers[0]?.genesis.putPlan(planTextOf({ A: 20 })));
  const tasks = Array.from({ length: 20 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-part`);
  const replies = await Promise.all(
    tasks.flatMap((task_id) =>
      servers.map(({ genesis }, index) => {
        const agent = { agent_id: `agent-${index}`, session_id: `sess-${index}` };
        return genesis.claimTask({ task_id, ...agent }).then((reply) => expectNoProblem(reply).reason);
      }),
    ),
  );
  expect(replies.filter((reason) => reason === 'GRANTED')).toHaveLength(tasks.length);
  expect(replies.filter((reason) => reason === 'DENIED_ACTIVE_CLAIM')).toHaveLength(tasks.length);
});
