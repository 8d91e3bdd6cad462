import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, onTestFinished, test } from 'vitest';
import { Genesis, isProblem } from '../src/client/index.js';
import { startServer } from '../src/server/server.js';
import { openStoreUrl } from '../src/server/store-url.js';
import { onProgram } from '../src/stores/testing/on-engine.js';
import { missingProgram } from '../src/stores/testing/program.js';
import { FrozenTime } from './support/frozen-time.js';
import { plainScript } from './support/plain-script.js';

const run = promisify(execFile);
interface ExampleWorker {
  readonly needs: readonly string[];
  readonly start: () => Promise<readonly [string, string]>;
}

const WORKERS: Record<string, ExampleWorker> = {
  'bash with curl': { needs: ['bash', 'curl'], start: async () => ['bash', 'examples/bash/worker.sh'] },
  'Python with its standard library': {
    needs: ['python3'],
    start: async () => ['python3', 'examples/python/worker.py'],
  },
  'TypeScript with the SDK': {
    needs: [],
    start: async () => [process.execPath, await plainScript('examples/typescript/worker.ts')],
  },
};

/** A server with the plan that README imports. No lease expires there, however slow a worker is. */
async function planned() {
  FrozenTime.begin();
  const folder = await mkdtemp(join(tmpdir(), 'worker-'));
  const server = await startServer({ ...(await openStoreUrl(`file:${folder}/log`, () => {})), port: 0 });
  onTestFinished(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const genesis = new Genesis({ url: server.url, project: 'shop' });
  const [, file = ''] = /gen plan import (\S+)/.exec(await readFile('README.md', 'utf8')) ?? [];
  await genesis.putPlan(await readFile(file, 'utf8'));
  const open = await genesis.tasks({ phase: 'OPEN' });
  if (isProblem(open) || open.tasks.length === 0) throw new Error(`${file} has no open tasks`);
  const env = { ...process.env, GENESIS_URL: server.url, GENESIS_PROJECT: 'shop', GENESIS_HOME: folder };
  return { url: server.url, genesis, env, task_count: open.tasks.length };
}

for (const [name, { needs, start }] of Object.entries(WORKERS)) {
  void onProgram(`a worker in ${name}`, missingProgram(...needs), () => describeWorker(name, start));
}

function describeWorker(name: string, start: ExampleWorker['start']): void {
  test(`a worker in ${name} completes a whole plan`, async () => {
    const [program, ...args] = await start();
    const { genesis, env, task_count } = await planned();
    const mistyped = run(program, args, { env: { ...env, GENESIS_PROJECT: 'shopp' } });
    await expect(mistyped).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no tasks'),
    });
    const { stdout } = await run(program, args, { env });
    expect(stdout.match(/ generation 1: ACCEPTED$/gm)).toHaveLength(task_count);
    const done = await genesis.tasks({ phase: 'COMPLETED' });
    expect(!isProblem(done) && done.tasks).toHaveLength(task_count);
    const again = await run(program, args, { env });
    expect(again.stdout).toBe('All work of shop is done.\n');
  });

  test(`a worker in ${name} reports a missing project and an unreachable server`, async () => {
    const [program, ...args] = await start();
    const url = `http://127.0.0.1:${await closedPort()}`;
    const env = { ...process.env, GENESIS_URL: url, GENESIS_PROJECT: '' };
    const nameless = run(program, args, { env });
    await expect(nameless).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^GENESIS_PROJECT is not set.*\n$/),
    });
    const waiting = spawn(program, args, {
      env: { ...env, GENESIS_PROJECT: 'shop' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [reply] = await once(waiting.stderr, 'data');
    expect(waiting.exitCode).toBeNull();
    waiting.kill();
    await once(waiting, 'exit');
    expect(String(reply)).toMatch(new RegExp(`${url}.*gen up.*GENESIS_URL`));
  });
}

test('the gen run agent of the README completes a whole plan', async () => {
  const { genesis, env, task_count } = await planned();
  const [, command = ''] = /`gen (run --loop -- [^`]+)`/.exec(await readFile('README.md', 'utf8')) ?? [];
  await run(process.execPath, [join(inject('built'), 'dist/cli/main.js'), ...command.split(' ')], { env });
  const done = await genesis.tasks({ phase: 'COMPLETED' });
  expect(!isProblem(done) && done.tasks).toHaveLength(task_count);
  const taskId = (!isProblem(done) && done.tasks[0]?.task_id) || '';
  expect(await genesis.results(taskId)).toMatchObject({ results: [{ result_data: { made: taskId } }] });
});

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

void onProgram('the requests of docs/http.md', missingProgram('bash', 'curl'), () => {
  test('the requests of docs/http.md claim, renew and complete a task as written', async () => {
    const { url, env } = await planned();
    const [, walk = ''] = /```bash\n([\s\S]*?)```/.exec(await readFile('docs/http.md', 'utf8')) ?? [];
    const here = walk.replace('http://127.0.0.1:4680', url).replaceAll('curl -s ', "curl -s -w '\\n' ");
    const { stdout } = await run('bash', ['-euc', here], { env });
    const reasons = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).reason);
    expect(reasons).toEqual(['GRANTED', 'RENEWED', 'ACCEPTED']);
  });
});
