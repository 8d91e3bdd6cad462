import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildProgram, newFolder } from './support/built.js';
import { runDemo } from './support/demo.js';

test('the demo exits with code 1 and names the failed guarantee if results are not fenced', async () => {
  const folder = await newFolder('fence-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp('src', join(folder, 'src'), { recursive: true });
  const file = join(folder, 'src/core/claims/decide/submit.ts');
  const rules = await readFile(file, 'utf8');
  const unfenced = rules.replace(
    /const code = refusalCodeOf\(.*\);/,
    'const code = null as DecisionCode | null;',
  );
  expect(unfenced).not.toBe(rules);
  await writeFile(file, unfenced);
  await buildProgram(join(folder, 'src'), folder);
  const { code, stdout } = await runDemo(folder);
  expect(stdout).toMatch(/^✗ A zombie’s late result is refused/m);
  expect(code).toBe(1);
});
