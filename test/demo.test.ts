import { expect, inject, test } from 'vitest';
import { runDemo } from './support/demo.js';

test('the demo ends well, and shows every guarantee that it tested', async () => {
  const { code, stdout } = await runDemo(inject('built'));
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
