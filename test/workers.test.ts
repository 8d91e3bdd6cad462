import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { Genesis, isProblem } from '../src/client/index.js';
import { startServer } from '../src/server/server.js';
import { openStoreUrl } from '../src/server/store-url.js';

const run = promisify(execFile);
const TASKS = ['A-001-core', 'A-002-more', 'B-001-data'] as const;

const PLAN = `tracks:
  A:
    - { id: A-001-core, description: the core }
    - { id: A-002-more, description: more of it }
  B:
    - { id: B-001-data, description: what it keeps }
`;

const WORKERS: Record<string, readonly [string, ...string[]]> = {
  'bash with curl': ['bash', 'examples/bash/worker.sh'],
  'Python with its standard library': ['python3', 'examples/python/worker.py'],
  'TypeScript with the SDK': [process.execPath, '--import', 'tsx', 'examples/typescript/worker.ts'],
};

for (const [name, [program, ...args]] of Object.entries(WORKERS)) {
  test(`a worker in ${name} does a whole plan`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'worker-'));
    const server = await startServer({ ...(await openStoreUrl(`file:${folder}/log`, () => {})), port: 0 });
    onTestFinished(async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    });
    const genesis = new Genesis({ url: server.url, project: 'shop' });
    await genesis.putPlan(PLAN);
    const env = { ...process.env, GENESIS_URL: server.url, GENESIS_PROJECT: 'shop', GENESIS_HOME: folder };
    const { stdout } = await run(program, args, { env });
    for (const task_id of TASKS) {
      expect(stdout).toContain(`${task_id} generation 1: ACCEPTED`);
      const state = await genesis.task(task_id);
      expect(!isProblem(state) && state.phase).toBe('COMPLETED');
    }
  });
}
