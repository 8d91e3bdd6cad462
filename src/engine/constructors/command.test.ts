import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { HAS_GROUPS } from '../processes/signal-group.js';
import { commandConstructor } from './command.js';

let root = '';
let folder = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gen-command-test-'));
  folder = await mkdtemp(join(root, 'draft-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

interface ScriptOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly prompt?: string;
  readonly signal?: AbortSignal;
  readonly timeout_seconds?: number;
}

/** Constructs with a script of Node as the agent. */
function construct(script: string, options: ScriptOptions = {}) {
  const { env = {}, prompt = 'Write it.', signal = new AbortController().signal, ...limits } = options;
  const command = [process.execPath, '--input-type=commonjs', '-e', script];
  const run = commandConstructor({ command, ...limits }, { ...process.env, ...env });
  return run({ prompt, folder, iteration: 1, signal });
}
const readWritten = async (name: string) => readFile(join(folder, name), 'utf8');

it('runs the agent in the draft folder, with the prompt on stdin and in a file elsewhere', async () => {
  const prompt = 'ä prompt\n'.repeat(50_000);
  const { says, cost } = await construct(
    `const { readFileSync, writeFileSync } = require('node:fs');
     writeFileSync('stdin.txt', readFileSync(0));
     writeFileSync('file.txt', readFileSync(process.env.GENESIS_PROMPT));
     writeFileSync('where.txt', process.env.GENESIS_PROMPT);
     console.log('Wrote three files.')`,
    { prompt },
  );
  expect(await readWritten('stdin.txt')).toBe(prompt);
  expect(await readWritten('file.txt')).toBe(prompt);
  expect(says).toBe('Wrote three files.');
  expect(cost).toMatchObject({ input_tokens: 0, output_tokens: 0, usd: null });
  expect((await readdir(folder)).sort()).toEqual(['file.txt', 'stdin.txt', 'where.txt']);
  const promptFile = await readWritten('where.txt');
  expect(promptFile.startsWith(folder)).toBe(false);
  expect(existsSync(promptFile)).toBe(false);
});

it('reports cost and session from the JSON output of the agent', async () => {
  const result = { result: 'Done.', session_id: 's-1', total_cost_usd: 0.5, usage: { output_tokens: 9 } };
  const { says, constructed_by, cost } = await construct(
    `console.log(${JSON.stringify(JSON.stringify(result))})`,
  );
  expect({ says, constructed_by }).toEqual({ says: 'Done.', constructed_by: 's-1' });
  expect(cost).toMatchObject({ output_tokens: 9, usd: 0.5 });
});

it('gives each run of an agent without a session a separate session', async () => {
  const [first, second] = [await construct(''), await construct('')];
  expect(first.constructed_by).not.toBe(second.constructed_by);
});

it('passes on the environment of the user, without keys and tokens of Genesis', async () => {
  await construct(`require('node:fs').writeFileSync('env.json', JSON.stringify(process.env))`, {
    env: { AGENT_LOGIN: 'mine', GENESIS_TOKEN: 'gk_secret', GENESIS_SESSION: 's', GENESIS_SIGNING_KEY: 'k' },
  });
  const env = JSON.parse(await readWritten('env.json')) as Record<string, string>;
  expect(env.AGENT_LOGIN).toBe('mine');
  expect(Object.keys(env).filter((name) => name.startsWith('GENESIS_'))).toEqual(['GENESIS_PROMPT']);
});

it('construction fails if the agent fails, with the end of the agent’s output and its cost', async () => {
  const failing = construct(
    `console.log(JSON.stringify({ total_cost_usd: 0.25 })); console.error('no login'); process.exitCode = 3`,
  );
  await expect(failing).rejects.toMatchObject({
    name: 'Engine.Failed',
    message: expect.stringMatching(/exit code 3: no login/),
    cost: { usd: 0.25 },
  });
});

it('construction fails if the agent reports an error with exit code 0', async () => {
  const failing = construct(
    `console.log(JSON.stringify({ total_cost_usd: 0, is_error: true, result: 'limit' }))`,
  );
  await expect(failing).rejects.toMatchObject({
    name: 'Engine.Failed',
    message: expect.stringMatching(/limit/),
  });
});

it('construction fails if the program does not exist', async () => {
  const run = commandConstructor({ command: [join(root, 'absent')] }, process.env);
  const { signal } = new AbortController();
  await expect(run({ prompt: 'x', folder, iteration: 1, signal })).rejects.toMatchObject({
    name: 'Engine.Failed',
    message: expect.stringMatching(/cannot be started/),
  });
});

it('works with an agent that reads nothing and prints more than is kept', async () => {
  const script = `process.stdin.destroy();
    const { writeSync } = require('node:fs');
    for (let i = 0; i < 400; i += 1) writeSync(1, 'x'.repeat(65536) + '\\n');
    writeSync(1, 'the end')`;
  const { says } = await construct(script, { prompt: 'p'.repeat(1024 * 1024) });
  expect(says).toHaveLength(2000);
  expect(says).toMatch(/^…x+\nthe end$/);
});

/** An agent with a child that ignores SIGTERM; both run for ever. */
const STUBBORN_AGENT = `
  const { spawn } = require('node:child_process');
  const child = "process.on('SIGTERM', () => {}); require('node:fs').writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000)";
  spawn(process.execPath, ['--input-type=commonjs', '-e', child], { stdio: 'inherit' });
  setInterval(() => {}, 1000)`;
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const childPid = (): Promise<number> =>
  vi.waitFor(
    async () => {
      const pid = Number(await readWritten('pid'));
      if (pid === 0) throw new Error('not yet');
      return pid;
    },
    { timeout: 60_000 },
  );

it.runIf(HAS_GROUPS)('kills the agent with its children when the run is stopped', async () => {
  const controller = new AbortController();
  const stopped = construct(STUBBORN_AGENT, { signal: controller.signal });
  const outcome = expect(stopped).rejects.toMatchObject({ name: 'Engine.Failed' });
  const pid = await childPid();
  expect(isAlive(pid)).toBe(true);
  controller.abort();
  await outcome;
  expect(isAlive(pid)).toBe(false);
});

it.runIf(HAS_GROUPS)('kills the agent with its children at the time limit', async () => {
  const late = construct(STUBBORN_AGENT, { timeout_seconds: 2 });
  await expect(late).rejects.toMatchObject({ name: 'Engine.Timeout' });
  // On a slow machine the limit may be reached before the child starts.
  const pid = existsSync(join(folder, 'pid')) ? Number(await readWritten('pid')) : 0;
  expect(pid !== 0 && isAlive(pid)).toBe(false);
});

it.runIf(HAS_GROUPS)('stops a child that the agent leaves behind', async () => {
  const leavingAgent = `${STUBBORN_AGENT.replace(/setInterval\(\(\) => \{\}, 1000\)$/, '')}
    const { existsSync } = require('node:fs');
    const timer = setInterval(() => { if (existsSync('pid')) process.exit(0) }, 10)`;
  await construct(leavingAgent);
  expect(isAlive(await childPid())).toBe(false);
});
