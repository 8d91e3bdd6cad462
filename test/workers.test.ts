import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { Genesis, isProblem } from '../src/client/index.js';
import { startServer } from '../src/server/server.js';
import { openStoreUrl } from '../src/server/store-url.js';

const run = promisify(execFile);
const WORKERS: Record<string, readonly [string, ...string[]]> = {
  'bash with curl': ['bash', 'examples/bash/worker.sh'],
  'Python with its standard library': ['python3', 'examples/python/worker.py'],
  'TypeScript with the SDK': [process.execPath, '--import', 'tsx', 'examples/typescript/worker.ts'],
};

/** A server with the plan that README imports. */
async function planned() {
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
  if (isProblem(open) || open.tasks.length === 0) throw new Error(`${file} is no plan`);
  const env = { ...process.env, GENESIS_URL: server.url, GENESIS_PROJECT: 'shop', GENESIS_HOME: folder };
  return { url: server.url, genesis, env, task_count: open.tasks.length };
}

for (const [name, [program, ...args]] of Object.entries(WORKERS)) {
  test(`a worker in ${name} does a whole plan`, async () => {
    const { genesis, env, task_count } = await planned();
    const { stdout } = await run(program, args, { env });
    expect(stdout.match(/ generation 1: ACCEPTED$/gm)).toHaveLength(task_count);
    const done = await genesis.tasks({ phase: 'COMPLETED' });
    expect(!isProblem(done) && done.tasks).toHaveLength(task_count);
  });
}

test('the requests of docs/http.md make a worker, as they stand there', async () => {
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
