import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findLogs } from '../src/cli/verify/find-logs.js';
import { verifyLog } from '../src/cli/verify/verify-log.js';
import { Genesis, isProblem } from '../src/client/index.js';
import { expectNoProblem, startChild } from '../src/client/testing/client-harness.js';
import { bundleScript } from './support/bundle-script.js';

const SERVER = join(import.meta.dirname, '../src/client/testing/server.child.ts');
const ROUNDS = 3;
const CONFIRMED_PER_ROUND = 25;
const WRITERS = 8;

/** Settings that were confirmed before the server died, and the highest limit that was only requested. */
class Settings {
  readonly tokens: string[] = [];
  confirmedLimit = 0;
  requestedLimit = 1000;
}

/** Creates keys and changes limits until `count` of these changes are confirmed; others are in flight when it returns. */
async function writeUntilConfirmed(count: number, genesis: Genesis, settings: Settings): Promise<void> {
  let missing = count;
  let isOver = false;
  await new Promise<void>((resolve) => {
    const write = async (writer: number): Promise<void> => {
      while (!isOver) {
        const isConfirmed =
          writer === 0 ? await changeLimit(genesis, settings) : await makeKey(genesis, settings);
        if (isConfirmed && --missing === 0) resolve();
      }
    };
    for (let writer = 0; writer < WRITERS; writer += 1) void write(writer);
  });
  isOver = true;
}

async function makeKey(genesis: Genesis, { tokens }: Settings): Promise<boolean> {
  const key = await genesis.createKey({ role: 'agent' });
  if (isProblem(key)) return false;
  tokens.push(key.token ?? '');
  return true;
}

async function changeLimit(genesis: Genesis, settings: Settings): Promise<boolean> {
  const max_concurrent_claims = ++settings.requestedLimit;
  const limits = await genesis.putLimits({ max_concurrent_claims });
  if (isProblem(limits)) return false;
  settings.confirmedLimit = max_concurrent_claims;
  return true;
}

test('a server killed while it writes keys and limits keeps every confirmed change and a valid log', async () => {
  const root = await mkdtemp(join(tmpdir(), 'settings-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const program = await bundleScript(SERVER);
  onTestFinished(program.remove);
  const settings = new Settings();
  let token: string | null = null;
  const start = async () => {
    const server = startChild(program.script, [root]);
    const url = `http://127.0.0.1:${await server.nextLine()}`;
    const client = (clientToken: string | null) =>
      new Genesis({
        url,
        project: 'shop',
        timeout_seconds: 600,
        retry: { tries: 1 },
        ...(clientToken === null ? {} : { token: clientToken }),
      });
    return { server, client };
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const { server, client } = await start();
    token ??= expectNoProblem(await client(null).createKey({ role: 'admin' })).token;
    await writeUntilConfirmed(CONFIRMED_PER_ROUND, client(token), settings);
    await server.kill();
  }
  const { client } = await start();
  for (const confirmedToken of settings.tokens) expectNoProblem(await client(confirmedToken).projects());
  expect(expectNoProblem(await client(token).keys()).keys.length).toBeGreaterThan(settings.tokens.length);
  const { max_concurrent_claims } = expectNoProblem(await client(token).limits());
  expect(max_concurrent_claims).toBeGreaterThanOrEqual(settings.confirmedLimit);
  expect(max_concurrent_claims).toBeLessThanOrEqual(settings.requestedLimit);
  const logs = (await findLogs(root)) ?? [];
  expect(logs.length).toBeGreaterThan(0);
  for (const log of logs) expect((await verifyLog(log, () => {})).breaks).toEqual([]);
});
