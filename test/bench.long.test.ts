import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

// req: PRF-007
test('a load test runs with one command, and prints what it measured', async () => {
  const args = ['run', '--silent', 'bench', '--', '--quick', '--only', 'inbox'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: `${import.meta.dirname}/..` });
  expect(stdout).toContain('commands/s');
  expect(stdout).toContain('{"GRANTED":500,"RENEWED":500,"APPENDED":500,"ACCEPTED":500}');
});
