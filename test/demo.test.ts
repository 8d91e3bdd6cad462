import { expect, inject, test } from 'vitest';
import { runDemo } from './support/demo.js';

test('the demo succeeds and reports every guarantee that it tested', async () => {
  const { code, stdout } = await runDemo(inject('built'));
  expect(stdout).toMatch(/^6 agents work through a plan/);
  expect(stdout).toMatch(/^\S+ {2}plan imported$/m);
  expect(stdout).toMatch(/is killed while working on [A-D]-\d{3}-/);
  expect(stdout).toMatch(/is refused and parked/);
  expect(stdout).toMatch(/→ STALE_GENERATION \(generation 1, current [2-9]\), kept as res_/);
  expect(stdout).toMatch(/gen verify: valid/);
  expect(stdout.match(/^✓ /gm)).toHaveLength(6);
  expect(stdout).toMatch(/^Next: connect your own agent/m);
  expect(stdout).not.toContain('✗');
  expect(code).toBe(0);
});
