import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { plainScript } from './support/plain-script.js';

const run = promisify(execFile);

it('the zombie example of the README runs and shows that the late result is refused', async () => {
  // Leases last one second, so the clock stands still between sleeps, however slow the machine is.
  const frozenClock = ['--require', './test/support/sleepless.cjs'];
  const { stdout } = await run(process.execPath, [...frozenClock, await plainScript('examples/zombie.ts')]);
  expect(stdout).toContain('agent-bob claims      GRANTED, generation 2');
  expect(stdout).toContain('agent-alice submits   STALE_GENERATION, her work is kept as res_');
});

it('the program in the README equals examples/embed.ts, and it runs', async () => {
  const [, shown] = /```ts\n([\s\S]*?)```/.exec(await readFile('README.md', 'utf8')) ?? [];
  expect(shown).toBe(await readFile('examples/embed.ts', 'utf8'));
  const cwd = await mkdtemp(join(tmpdir(), 'embed-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await cp('examples/plan.yaml', join(cwd, 'examples', 'plan.yaml'));
  // Imports by package name resolve to the sources.
  const names = ['--tsconfig', resolve('tsconfig.json')];
  const tsx = resolve('node_modules/.bin/tsx');
  const { stdout } = await run(tsx, [...names, resolve('examples/embed.ts')], { cwd });
  expect(stdout).toMatch(/^A-001-schema [\s\S]*accepted: true/);
});

it('the functions in docs/dynamodb.md equal the functions in examples/dynamodb-boto3/claim.py', async () => {
  const document = await readFile('docs/dynamodb.md', 'utf8');
  const program = await readFile('examples/dynamodb-boto3/claim.py', 'utf8');
  const shown = [...document.matchAll(/```python\n(def [\s\S]*?)```/g)].map(([, text]) => text);
  expect(shown).toHaveLength(2);
  for (const text of shown) expect(program).toContain(text);
});
