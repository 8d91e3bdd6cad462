import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { unsandboxedExecutor } from './command-executor.js';
import { checkExecutor } from './execute-check.js';
import { runChecks } from './run-checks.js';
import { copyOfProject } from './testing/check-project.js';
import { shellCheck, TEST_LIMITS } from './testing/check-values.js';
import { isRunning } from './testing/running-processes.js';

const runCheck = checkExecutor(unsandboxedExecutor(process.env.PATH));
const JUNIT = '<testsuite><testcase name="a"/></testsuite>';

async function run(check: ReturnType<typeof shellCheck>, files: Readonly<Record<string, string>> = {}) {
  const copy = await copyOfProject(files);
  const { signal } = new AbortController();
  const { outcome, output } = await runCheck({ check, copy, limits: TEST_LIMITS, signal });
  return { ...outcome, copy, text: Buffer.from(output).toString('utf8') };
}

it('runs on its own copy with a clean environment', async () => {
  process.env.CHECK_TEST_SECRET = 'hush-9120';
  onTestFinished(() => {
    delete process.env.CHECK_TEST_SECRET;
  });
  const line = 'env; cat a.txt; echo new > a.txt; cat node_modules/p.js';
  const { copy, ...outcome } = await run(shellCheck(line), {
    'a.txt': 'old',
    'node_modules/p.js': 'dependency',
  });
  expect(outcome).toMatchObject({ result: 'pass', text: expect.stringContaining('olddependency') });
  expect(outcome.text).not.toContain('hush-9120');
  expect(readFileSync(`${copy.folder}/a.txt`, 'utf8')).toBe('old');
});

it('an unsandboxed check is an error if its program does not exist', async () => {
  expect(await run(shellCheck('no-such-program', { shell: false }))).toMatchObject({ result: 'error' });
});

it('stops a command that sleeps, and the processes of its group', async () => {
  const seconds = `1${randomInt(1e8, 1e9)}`;
  const outcome = await run(shellCheck(`sleep ${seconds} & sleep ${seconds}`, { timeout_seconds: 1 }));
  expect(outcome).toMatchObject({ result: 'fail', says: expect.stringContaining('did not end within 1 s') });
  expect(isRunning(seconds)).toBe(false);
});

it('stops a command that prints without end', async () => {
  expect(await run(shellCheck('yes'))).toMatchObject({
    says: expect.stringContaining('printed more than 1 MB'),
  });
});

it.each([
  ['has 1 GB', 'truncate -s 1G report.xml'],
  ['is a pipe without a writer', 'mkfifo report.xml'],
  ['is endless', 'ln -s /dev/zero report.xml'],
])('the result of a check is an error if the report %s', async (_, line) => {
  const report = { format: 'junit', path: 'report.xml' } as const;
  expect(await run(shellCheck(line, { report }))).toMatchObject({ result: 'error', report: null });
});

it('reads the report of the command, and none through a link out of its folder', async () => {
  const report = { format: 'junit', path: 'report.xml' } as const;
  expect(await run(shellCheck(`echo '${JUNIT}' > report.xml`, { report }))).toMatchObject({ result: 'pass' });
  expect(await run(shellCheck('true', { report }), { 'report.xml': JUNIT })).toMatchObject({
    result: 'error',
  });
  const outside = `d=$(mktemp -d); echo '${JUNIT}' > "$TMPDIR/r.xml"; ln -s "$TMPDIR/r.xml" report.xml`;
  expect(await run(shellCheck(outside, { report }))).toMatchObject({ result: 'error', report: null });
});

it('runs independent checks at the same time, and keeps their order', async () => {
  const copy = await copyOfProject();
  // Each command waits for the other: if they ran one after the other, they would not end.
  const [firstFile, secondFile] = [1, 2].map((n) => `${copy.folder}.${n}`);
  const meetCommand = (own = '', awaited = '') =>
    `touch ${own}; while ! [ -e ${awaited} ]; do sleep 0.05; done`;
  const checks = [
    shellCheck(meetCommand(firstFile, secondFile), { name: 'first' }),
    shellCheck('exit 1', { name: 'human', type: 'human' }),
    shellCheck(meetCommand(secondFile, firstFile), { name: 'second' }),
    shellCheck('exit 1', { name: 'third' }),
    shellCheck('true', { name: 'fourth', skipped: 'No tool.' }),
  ];
  const { signal } = new AbortController();
  const results = await runChecks(runCheck, { checks, copy, limits: TEST_LIMITS, signal }, 2);
  expect(results.map(({ outcome }) => [outcome.name, outcome.result])).toEqual([
    ['first', 'pass'],
    ['second', 'pass'],
    ['third', 'fail'],
    ['fourth', 'skip'],
  ]);
});
