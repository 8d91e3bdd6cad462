import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lockEdge } from './edge-lock.js';

const SUBJECT = 'REQ-F-A#design_code';
const MODULE = new URL('./edge-lock.ts', import.meta.url).href;

/** A script that locks the edge, and prints a line when it has the lock. */
const HOLDER = `
  const { lockEdge } = await import(${JSON.stringify(MODULE)});
  await lockEdge(process.argv[1], 'ada', ${JSON.stringify(SUBJECT)});
  console.log('locked');
  setInterval(() => {}, 1000);`;

test('an edge is locked for one process of an agent, until that process ends, however it ends', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'edge-lock-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const holder = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type', 'module', '-e', HOLDER, folder],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  await expect(lockEdge(folder, 'ada', SUBJECT)).rejects.toThrow(`process ${holder.pid}`);
  await (await lockEdge(folder, 'bob', SUBJECT)).release();
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = await lockEdge(folder, 'ada', SUBJECT);
  await lock.release();
});
