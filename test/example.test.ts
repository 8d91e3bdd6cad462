import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('the example of the README runs and shows the zombie refused', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', 'examples/zombie.ts']);
  expect(stdout).toContain('agent-bob claims      GRANTED, generation 2');
  expect(stdout).toContain('agent-alice submits   STALE_GENERATION, her work is kept as res_');
});
