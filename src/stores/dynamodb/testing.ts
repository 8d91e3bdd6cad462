import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { MissingEngine, TestEngine } from '../testing/engine.js';

const BINARY = fileURLToPath(new URL('../../../node_modules/@dynoxide/linux-x64/dynoxide', import.meta.url));
const START_TRIES = 200;
const START_POLL_MS = 25;

/** DynamoDB by its URL variable, else the compatible server that comes with npm. */
export async function startDynamodb(): Promise<TestEngine | MissingEngine> {
  const given = process.env.GENESIS_TEST_DYNAMODB;
  if (given !== undefined) return { url: given, stop: async () => {} };
  if (!existsSync(BINARY)) return { missing: 'dynamodb: @dynoxide/linux-x64 is not installed' };
  const folder = await mkdtemp(join(tmpdir(), 'dynamodb-'));
  const port = await freePort();
  let server = await start(folder, port);
  const endOnExit = () => {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.on('exit', endOnExit);
  return {
    url: `dynamodb://eu-west-1/genesis_fleet?endpoint=http://127.0.0.1:${port}`,
    restart: async () => {
      await end(server);
      server = await start(folder, port);
    },
    freeze: () => server.kill('SIGSTOP'),
    thaw: () => server.kill('SIGCONT'),
    stop: async () => {
      process.off('exit', endOnExit);
      await end(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function start(folder: string, port: number): Promise<ChildProcess> {
  const options = ['serve', '--host', '127.0.0.1', '-p', String(port), '--db-path', join(folder, 'data.db')];
  const server = spawn(BINARY, options, { stdio: 'ignore' });
  for (let tries = 0; tries < START_TRIES; tries += 1) {
    const answered = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (answered) return server;
    await sleep(START_POLL_MS);
  }
  server.kill('SIGKILL');
  throw new Error('dynoxide does not answer');
}

/** As a power cut would. */
async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await gone;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
