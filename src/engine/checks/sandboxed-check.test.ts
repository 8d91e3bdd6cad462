import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkOutcomeSchema } from '../../core/engine/check-outcome.js';
import { sandboxExecutor } from './command-executor.js';
import { checkExecutor } from './execute-check.js';
import { findSandbox } from './sandbox.js';
import { copyOfProject } from './testing/check-project.js';
import { shellCheck, TEST_LIMITS } from './testing/check-values.js';
import { isRunning } from './testing/running-processes.js';

const sandbox = await findSandbox(process.env.PATH);
const skipText = sandbox.kind === 'none' ? ` (skipped: ${sandbox.says})` : '';
const NEVER = new AbortController().signal;
const JUNIT = '<testsuite><testcase name="a"/></testsuite>';

async function run(
  check: ReturnType<typeof shellCheck>,
  { limits = {}, files = {}, signal = NEVER }: Partial<RunOptions> = {},
) {
  if (sandbox.kind === 'none') throw new Error(sandbox.says);
  const runCheck = checkExecutor(sandboxExecutor(sandbox));
  const result = await runCheck({
    check,
    copy: await copyOfProject(files),
    limits: { ...TEST_LIMITS, ...limits },
    signal,
  });
  checkOutcomeSchema.parse(result.outcome);
  return { ...result.outcome, text: Buffer.from(result.output).toString('utf8'), bytes: result.report };
}
interface RunOptions {
  readonly limits: Partial<typeof TEST_LIMITS>;
  readonly files: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** An argument for `sleep` that no other process has, to find the process by. */
const uniqueSeconds = () => `1${randomInt(1e8, 1e9)}`;

describe.skipIf(sandbox.kind === 'none')(`a check in the sandbox${skipText}`, { timeout: 120_000 }, () => {
  it('runs a command without a shell, on a copy of the project', async () => {
    const check = shellCheck(`printf '%s,' "a b" '$HOME'`, { shell: false });
    expect(await run(check)).toMatchObject({ result: 'pass', exit_code: 0, text: 'a b,$HOME,' });
    const copied = await run(shellCheck('cat src/a.txt && echo new > src/a.txt'), {
      files: { 'src/a.txt': 'old' },
    });
    expect(copied).toMatchObject({ result: 'pass', text: 'old' });
  });

  it('fails on an exit code other than 0, and is an error if the program does not exist', async () => {
    expect(await run(shellCheck('exit 3'))).toMatchObject({ result: 'fail', exit_code: 3 });
    const missing = await run(shellCheck('no-such-program', { shell: false }));
    expect(missing).toMatchObject({
      result: 'error',
      exit_code: 127,
      says: expect.stringContaining('not found'),
    });
  });

  it('stops a command that forks without end, and names the limit', async () => {
    const seconds = uniqueSeconds();
    const forking = await run(shellCheck(`while :; do (sleep ${seconds} &) 2>/dev/null; done`));
    expect(forking).toMatchObject({
      result: 'fail',
      says: expect.stringContaining('limit of 100 processes'),
    });
    const bomb = await run(shellCheck('f() { f | f & f; }; f; sleep 1000'));
    expect(bomb).toMatchObject({ result: 'fail', says: expect.stringContaining('limit of 100 processes') });
    expect(isRunning(seconds)).toBe(false);
  });

  it.each(['big', '/tmp/big'])('does not let a command fill the disk with %s', async (path) => {
    const filled = await run(shellCheck(`dd if=/dev/zero of=${path} bs=1M`));
    expect(filled).toMatchObject({ result: 'fail', says: expect.stringContaining('limit is 32 MB') });
    expect(filled.text).toMatch(/No space left on device|File size limit exceeded/);
  });

  it('limits every writable folder, and prevents mounts in a new namespace', async () => {
    const shared = await run(shellCheck('dd if=/dev/zero of=/dev/shm/big bs=1M'));
    expect(shared.text).toContain('No space left');
    const mount = 'unshare --user --map-root-user --mount mount -t tmpfs none /tmp';
    expect(await run(shellCheck(mount))).toMatchObject({
      result: 'fail',
      text: expect.stringContaining('unshare'),
    });
  });

  it('reports that the project does not fit into the disk limit', async () => {
    const files = { 'big.txt': 'x'.repeat(30_000_000) };
    const outcome = await run(shellCheck('true'), { files });
    expect(outcome).toMatchObject({ result: 'error', says: expect.stringContaining('No space left') });
  });

  it('stops a command that sleeps', async () => {
    const seconds = uniqueSeconds();
    const outcome = await run(shellCheck(`sleep ${seconds}`, { timeout_seconds: 1 }));
    expect(outcome).toMatchObject({ result: 'fail', signal: 'SIGKILL', exit_code: null });
    expect(outcome.says).toContain('did not end within 1 s');
    expect(isRunning(seconds)).toBe(false);
  });

  it('stops a command that prints 1 GB, and keeps the end of what it printed', async () => {
    const outcome = await run(shellCheck('head -c 1073741824 /dev/zero'));
    expect(outcome).toMatchObject({
      result: 'fail',
      says: expect.stringContaining('printed more than 1 MB'),
    });
    const long = await run(shellCheck('head -c 100000 /dev/zero; echo the end >&2; exit 1'));
    expect(long.text).toHaveLength(TEST_LIMITS.output_bytes);
    expect(long.text).toContain('the end');
  });

  it('stops processes that together use too much memory', async () => {
    // `tail` holds its input in memory until the input ends, and this input does not end.
    const memoryHog = '(head -c 300000000 /dev/zero; sleep 1000) | tail >/dev/null & ';
    const outcome = await run(shellCheck(`${memoryHog.repeat(4)} wait; sleep 1000`), {
      limits: { memory_bytes: 5e8 },
    });
    expect(outcome).toMatchObject({ result: 'fail', says: expect.stringContaining('of memory') });
  });

  it('denies a command every kind of memory that the limits do not count', async () => {
    const script = `import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, call in [("memfd", lambda: libc.memfd_create(b"a", 0)), ("shm", lambda: libc.shmget(0, 1 << 20, 0o1666))]:
    print(name, call(), os.strerror(ctypes.get_errno()))
`;
    const { text } = await run(shellCheck('python3 uncounted.py'), { files: { 'uncounted.py': script } });
    expect(text).toBe('memfd -1 Function not implemented\nshm -1 Function not implemented\n');
  });

  it('shows a command neither the environment nor the files of the user', async () => {
    process.env.CHECK_TEST_SECRET = 'hush-7431';
    onTestFinished(() => {
      delete process.env.CHECK_TEST_SECRET;
    });
    const line = 'env; cat /proc/*/environ; ls -a / /home /root /tmp "$HOME"; cat /etc/shadow; ls /proc';
    const { text } = await run(shellCheck(`${line} | grep -c "^[0-9]"`));
    expect(text).not.toContain('hush-7431');
    expect(text).not.toContain(tmpdir() === '/tmp' ? 'check-test-' : tmpdir());
    expect(text).toContain('CI=1');
    for (const path of ['/home', '/root', '/etc/shadow'])
      expect(text).toMatch(new RegExp(`${path}'?: No such file`));
  });

  it('lets a command write nowhere but to its own copy', async () => {
    const name = `check-test-${randomInt(1e9)}`;
    const folders = [
      '/',
      '/usr',
      '/usr/local/bin',
      '/etc',
      '/dev',
      '/copy',
      '/project/node_modules',
      '/proc/sys',
    ];
    const files = { 'node_modules/p/index.js': 'p' };
    const writes = folders.map((folder) => `touch ${folder}/${name} && echo WRITTEN ${folder}`);
    const { text } = await run(shellCheck(`touch ok; touch /tmp/${name}; ${writes.join('; ')}; ls`), {
      files,
    });
    expect(text).not.toContain('WRITTEN');
    expect(text).toContain('ok');
    for (const folder of ['/', '/usr', '/etc', '/tmp', '/dev'])
      expect(existsSync(join(folder, name))).toBe(false);
  });

  it('gives a command no network', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    const script = `require('net').connect(${port}, '127.0.0.1').on('error', (e) => { console.log(e.code); process.exit(9) })`;
    const outcome = await run(shellCheck(`node -e "${script}"`));
    expect(outcome).toMatchObject({ result: 'fail', exit_code: 9, text: 'ECONNREFUSED\n' });
    expect(connections).toBe(0);
  });

  it('refuses a pipe into a shell without running anything', async () => {
    const outcome = await run(shellCheck('curl -s https://x.example/install | sh', { shell: false }));
    expect(outcome).toMatchObject({ result: 'error', command_sha256: null, duration_ms: 0 });
    expect(outcome.says).toContain('"|"');
  });

  it('leaves no process behind', async () => {
    const seconds = uniqueSeconds();
    expect(await run(shellCheck(`setsid -f sleep ${seconds}; nohup sleep ${seconds} &`))).toMatchObject({
      result: 'pass',
    });
    expect(isRunning(seconds)).toBe(false);
  });

  it('rejects when it is aborted, after everything has ended', async () => {
    const seconds = uniqueSeconds();
    const controller = new AbortController();
    const running = run(shellCheck(`sleep ${seconds}`), { signal: controller.signal });
    await expect.poll(() => isRunning(`sleep\0${seconds}`), { timeout: 30_000 }).toBe(true);
    controller.abort(new Error('no longer needed'));
    await expect(running).rejects.toThrow('no longer needed');
    expect(isRunning(seconds)).toBe(false);
  });

  it('reads the report that the command writes', async () => {
    const report = { format: 'junit', path: 'out/report.xml' } as const;
    const outcome = await run(shellCheck(`mkdir out; echo '${JUNIT}' > out/report.xml`, { report }));
    expect(outcome).toMatchObject({ result: 'pass', says: '1 passed, 0 failed, 0 skipped.' });
    expect(outcome.report).toMatchObject({ format: 'junit', passed: 1 });
    expect(Buffer.from(outcome.bytes ?? []).toString()).toContain('testcase');
  });

  it.each([
    ['is missing', 'true'],
    ['was there before', 'ls'],
    ['is a folder', 'mkdir report.xml'],
    ['is cut off', 'echo "<testsuite>" > report.xml'],
    ['is endless', 'ln -s /dev/zero report.xml'],
    ['has 1 GB', 'truncate -s 1G report.xml'],
    ['is a pipe without a writer', 'mkfifo report.xml'],
  ])('is an error if the report %s', async (_, line) => {
    const report = { format: 'junit', path: 'report.xml' } as const;
    const outcome = await run(shellCheck(line, { report }), { files: { 'report.xml': JUNIT } });
    expect(outcome).toMatchObject({ result: 'error', report: null });
  });

  it('compares coverage with the minimum', async () => {
    const lcov = 'printf "SF:a\\nDA:1,1\\nDA:2,0\\nend_of_record\\n" > lcov.info';
    const report = { format: 'lcov', path: 'lcov.info' } as const;
    const withMinimum = (minimum_percent: number | string) =>
      run(shellCheck(lcov, { report: { ...report, minimum_percent } }));
    expect(await withMinimum(50)).toMatchObject({ result: 'pass' });
    expect(await withMinimum('51%')).toMatchObject({ result: 'fail', says: expect.stringContaining('51 %') });
    expect(await withMinimum('0.5')).toMatchObject({ result: 'pass' });
    expect(await withMinimum('0.51')).toMatchObject({
      result: 'fail',
      says: expect.stringContaining('51 %'),
    });
    expect(await withMinimum('$x')).toMatchObject({ result: 'error' });
  });
});
