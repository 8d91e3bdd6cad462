import { execFile } from 'node:child_process';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { buildProgram, newFolder } from './support/built.js';

interface Ended {
  readonly code: number;
  readonly stdout: string;
}

function demo(folder: string, ...options: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'dist/cli/main.js'), 'demo', ...options], (error, stdout) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout }),
    );
  });
}

test('the demo ends well, and shows every guarantee that it tested', async () => {
  const { code, stdout } = await demo(inject('built'));
  expect(stdout).toMatch(/^6 agents work through a plan/);
  expect(stdout).toMatch(/^\S+ {2}the plan is in$/m);
  expect(stdout).toMatch(/dies in the middle of [A-D]-\d{3}-/);
  expect(stdout).toMatch(/is refused and kept aside/);
  expect(stdout).toMatch(/→ STALE_GENERATION \(generation 1, current [2-9]\), kept as res_/);
  expect(stdout).toMatch(/gen verify: sound/);
  expect(stdout.match(/^✓ /gm)).toHaveLength(6);
  expect(stdout).toMatch(/What now\?/);
  expect(stdout).not.toContain('✗');
  expect(code).toBe(0);
});

test('with the fence broken the demo ends badly, and says which guarantee did not hold', async () => {
  const folder = await newFolder('fence-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp('src', join(folder, 'src'), { recursive: true });
  const file = join(folder, 'src/core/claims/decide/submit.ts');
  const rules = await readFile(file, 'utf8');
  const unfenced = rules.replace(
    'const code = refusalOf(head, command, ctx);',
    'const code = null as Code | null;',
  );
  expect(unfenced).not.toBe(rules);
  await writeFile(file, unfenced);
  await buildProgram(join(folder, 'src'), folder);
  const { code, stdout } = await demo(folder);
  expect(stdout).toMatch(/^✗ A zombie’s late result is refused/m);
  expect(code).toBe(1);
});
