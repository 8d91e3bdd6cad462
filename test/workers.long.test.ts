import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, inject, onTestFinished, test } from 'vitest';
import { Genesis, isProblem } from '../src/client/index.js';
import { startServer } from '../src/server/server.js';
import { openStoreUrl } from '../src/server/store-url.js';
import { onProgram } from '../src/stores/testing/on-database.js';
import { missingProgram } from '../src/stores/testing/program.js';
import { FrozenTime } from './support/frozen-time.js';
import { plainScript } from './support/plain-script.js';

const run = promisify(execFile);
interface ExampleWorker {
  readonly needs: readonly string[];
  readonly start: () => Promise<readonly [program: string, script: string]>;
}

/** The workers without an SDK: their function `work`, and others to put in its place. */
interface PlainWorker {
  readonly program: string;
  readonly file: string;
  readonly needs: readonly string[];
  readonly work: RegExp;
  /** Prints or returns the briefing. */
  readonly echoes: string;
  /** Fails with the error `no "disk"`. */
  readonly fails: string;
  /** Prints or returns a JSON string of a million characters. */
  readonly large: string;
}

const PLAIN_WORKERS: readonly PlainWorker[] = [
  {
    program: 'bash',
    file: 'examples/bash/worker.sh',
    needs: ['bash', 'curl', 'sha256sum'],
    work: /^work\(\) .*$/m,
    echoes: 'work() { cat "$2"; }',
    fails: `work() { echo 'no "disk"' >&2; return 7; }`,
    large: `work() { printf '"'; head -c 1000000 /dev/zero | tr '\\0' x; printf '"'; }`,
  },
  {
    program: 'python3',
    file: 'examples/python/worker.py',
    needs: ['python3'],
    work: /^def work\([\s\S]*?(?=\n\n\n)/m,
    echoes: 'def work(task_id, briefing, lost):\n    return briefing',
    fails: `def work(task_id, briefing, lost):\n    raise OSError('no "disk"')`,
    large: 'def work(task_id, briefing, lost):\n    return "x" * 1000000',
  },
];

const WORKERS: Record<string, ExampleWorker> = {
  'bash with curl': { needs: ['bash', 'curl'], start: async () => ['bash', 'examples/bash/worker.sh'] },
  'Python with its standard library': {
    needs: ['python3'],
    start: async () => ['python3', 'examples/python/worker.py'],
  },
  'TypeScript with the SDK': {
    needs: [],
    start: async () => [process.execPath, await plainScript('examples/typescript/worker.ts')],
  },
};

/** A server with the plan that README imports. No lease expires there, however slow a worker is. */
async function startPlanned() {
  FrozenTime.begin();
  const folder = await mkdtemp(join(tmpdir(), 'worker-'));
  const server = await startServer({ ...(await openStoreUrl(`file:${folder}/log`, () => {})), port: 0 });
  onTestFinished(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const genesis = new Genesis({ url: server.url, project: 'shop' });
  const [, file = ''] = /gen plan import (\S+)/.exec(await readFile('README.md', 'utf8')) ?? [];
  await genesis.putPlan(await readFile(file, 'utf8'));
  const open = await genesis.tasks({ phase: 'OPEN' });
  if (isProblem(open) || open.tasks.length === 0) throw new Error(`${file} has no open tasks`);
  const env = { ...process.env, GENESIS_URL: server.url, GENESIS_PROJECT: 'shop', GENESIS_HOME: folder };
  return { url: server.url, genesis, env, task_count: open.tasks.length };
}

for (const [name, { needs, start }] of Object.entries(WORKERS)) {
  void onProgram(`a worker in ${name}`, missingProgram(...needs), () => describeWorker(name, start));
}

function describeWorker(name: string, start: ExampleWorker['start']): void {
  test(`a worker in ${name} completes a whole plan`, async () => {
    const [program, ...args] = await start();
    const { genesis, env, task_count } = await startPlanned();
    const mistyped = run(program, args, { env: { ...env, GENESIS_PROJECT: 'shopp' } });
    await expect(mistyped).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no project shopp. Did you mean shop?'),
    });
    const { stdout } = await run(program, args, { env });
    expect(stdout.match(/ generation 1: ACCEPTED$/gm)).toHaveLength(task_count);
    const done = await genesis.tasks({ phase: 'COMPLETED' });
    expect(!isProblem(done) && done.tasks).toHaveLength(task_count);
    const again = await run(program, args, { env });
    expect(again.stdout).toBe('All work of shop is done.\n');
  });

  test(`a worker in ${name} reports a missing project and an unreachable server`, async () => {
    const [program, ...args] = await start();
    const url = `http://127.0.0.1:${await closedPort()}`;
    const env = { ...process.env, GENESIS_URL: url, GENESIS_PROJECT: '' };
    const withoutProject = run(program, args, { env });
    await expect(withoutProject).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^GENESIS_PROJECT is not set.*\n$/),
    });
    const waiting = spawn(program, args, {
      env: { ...env, GENESIS_PROJECT: 'shop' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [reply] = await once(waiting.stderr, 'data');
    expect(waiting.exitCode).toBeNull();
    waiting.kill();
    await once(waiting, 'exit');
    expect(String(reply)).toMatch(new RegExp(`${url}.*gen up.*GENESIS_URL`));
  });
}

/** A copy of the example with other work. */
async function workerWith({ file, work }: PlainWorker, otherWork: string): Promise<string> {
  const source = await readFile(file, 'utf8');
  if (!work.test(source)) throw new Error(`${file} has no function work`);
  const folder = await mkdtemp(join(tmpdir(), 'example-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const copy = join(folder, 'worker');
  await writeFile(
    copy,
    source.replace(work, () => otherWork),
  );
  return copy;
}

for (const worker of PLAIN_WORKERS) {
  void onProgram(`work in ${worker.program}`, missingProgram(...worker.needs), () => describeWork(worker));
}

function describeWork(worker: PlainWorker): void {
  const { program } = worker;

  test(`the work of a worker in ${program} gets the whole briefing`, async () => {
    const { genesis, env } = await startPlanned();
    const tricky = 'Braces } { and "quotes" \\\\" in → a description';
    await genesis.putPlan({ tracks: { A: [{ id: 'A-001-x', description: tricky }] } });
    await run(program, [await workerWith(worker, worker.echoes)], { env });
    expect(await genesis.results('A-001-x')).toMatchObject({
      results: [{ result_data: { description: tricky, handle: { task_id: 'A-001-x' } } }],
    });
  });

  test(`a worker in ${program} releases a task whose work fails, with the error`, async () => {
    const { genesis, env } = await startPlanned();
    const child = spawn(program, [await workerWith(worker, worker.fails)], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill());
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { value: line } = await lines.next();
    expect(line).toMatch(/ generation 1: released, .*no "disk"/);
    const [taskId = ''] = String(line).split(' ');
    const history = await genesis.history(taskId);
    expect(history).toMatchObject({ generations: [{ release_reason: 'ERROR' }] });
    expect(await genesis.explain(taskId)).toMatchObject({
      why: [{ says: expect.stringContaining('no "disk"') }],
    });
  });

  test(`a worker in ${program} submits a result of a megabyte as a blob`, async () => {
    const { genesis, env, task_count } = await startPlanned();
    const { stdout } = await run(program, [await workerWith(worker, worker.large)], { env });
    expect(stdout.match(/ generation 1: ACCEPTED$/gm)).toHaveLength(task_count);
    const done = await genesis.tasks({ phase: 'COMPLETED' });
    const taskId = (!isProblem(done) && done.tasks[0]?.task_id) || '';
    const reply = await genesis.results(taskId);
    const sha256 = createHash('sha256')
      .update(`"${'x'.repeat(1_000_000)}"`)
      .digest('hex');
    expect(reply).toMatchObject({ results: [{ blob_sha256: sha256 }] });
  });
}

test('the gen run agent of the README completes a whole plan', async () => {
  const { genesis, env, task_count } = await startPlanned();
  const [, command = ''] = /`gen (run --loop -- [^`]+)`/.exec(await readFile('README.md', 'utf8')) ?? [];
  await run(process.execPath, [join(inject('built'), 'dist/cli/main.js'), ...command.split(' ')], { env });
  const done = await genesis.tasks({ phase: 'COMPLETED' });
  expect(!isProblem(done) && done.tasks).toHaveLength(task_count);
  const taskId = (!isProblem(done) && done.tasks[0]?.task_id) || '';
  expect(await genesis.results(taskId)).toMatchObject({ results: [{ result_data: { made: taskId } }] });
});

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

void onProgram('the requests of docs/http.md', missingProgram('bash', 'curl'), () => {
  test('the requests of docs/http.md claim, renew and complete a task as written', async () => {
    const { url, env } = await startPlanned();
    const [, requests = ''] = /```bash\n([\s\S]*?)```/.exec(await readFile('docs/http.md', 'utf8')) ?? [];
    const script = requests.replace('http://127.0.0.1:4680', url).replaceAll('curl -s ', "curl -s -w '\\n' ");
    const { stdout } = await run('bash', ['-euc', script], { env });
    const reasons = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).reason);
    expect(reasons).toEqual(['GRANTED', 'RENEWED', 'ACCEPTED']);
  });
});
