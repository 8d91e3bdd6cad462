import { execFile, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { Genesis, isProblem } from '../src/client/index.js';
import { AuditedLog } from '../src/core/audit/testing/audited-log.js';
import { newSigner } from '../src/core/audit/testing/primitives.js';
import { startDynamodb } from '../src/stores/dynamodb/testing.js';
import { onDatabase, onProgram } from '../src/stores/testing/on-database.js';
import { missingProgram } from '../src/stores/testing/program.js';
import { PACKAGE, type PublishedPackage, publishInto } from './support/published.js';

const run = promisify(execFile);
const TSC = resolve('node_modules/typescript/bin/tsc');
const TSX = resolve('node_modules/.bin/tsx');
/** Compiler options of a Node program that also checks the types of its libraries; no browser types. */
const STRICT_TSC_FLAGS =
  `--strict --module nodenext --moduleResolution nodenext --target es2022 --lib es2022 --types node
  --skipLibCheck false`.split(/\s+/);
/** The exports that need a driver, which is an optional peer dependency. All other exports must work without drivers. */
const DATABASE_EXPORTS = ['./stores/dynamodb', './stores/mysql', './stores/postgres', './stores/redis'];

let root: string;
let published: PublishedPackage;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'package-'));
  published = await publishInto(root);
});

afterAll(() => rm(root, { recursive: true, force: true }));

/** An environment without any Genesis settings. */
const environment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GENESIS_'))),
  GENESIS_HOME: join(root, 'home'),
  ...more,
});

/** A folder inside a project, for the files that a program writes. */
async function folderIn(projectFolder: string): Promise<string> {
  await mkdir(join(projectFolder, 'work'), { recursive: true });
  return mkdtemp(join(projectFolder, 'work', 'test-'));
}

const mainOf = (projectFolder: string): string => join(projectFolder, PACKAGE, 'dist/cli/main.js');

const gen = (projectFolder: string, cwd: string, env: NodeJS.ProcessEnv, ...args: string[]) =>
  run(process.execPath, [mainOf(projectFolder), ...args], { cwd, env });

/** Starts the installed program; it runs until the test is over. */
function startGen(
  { onTestFinished }: TestContext,
  projectFolder: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  ...args: string[]
) {
  const child = spawn(process.execPath, [mainOf(projectFolder), ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const failed = exited.then(() => {
    throw new Error(`gen ${args.join(' ')} exited before the test ended: ${errors}`);
  });
  failed.catch(() => {});
  return { lines: createInterface({ input: child.stdout }), failed };
}

/** Starts a server of the installed package, on loopback. */
async function serve(context: TestContext, projectFolder: string, store: string, env = environment()) {
  const args = ['up', '--json', '--port', '0', '--store', store];
  const { lines, failed } = startGen(context, projectFolder, await folderIn(projectFolder), env, ...args);
  const [line] = (await Promise.race([once(lines, 'line'), failed])) as [string];
  return (JSON.parse(line) as { url: string }).url;
}

/** Starts such a server with the plan that ships with the package. */
async function servePlan(context: TestContext, projectFolder: string) {
  const url = await serve(context, projectFolder, 'memory:');
  const env = environment({ GENESIS_URL: url, GENESIS_PROJECT: 'shop' });
  const cwd = await folderIn(projectFolder);
  await gen(projectFolder, cwd, env, 'plan', 'import', example('plan.yaml', projectFolder));
  const genesis = new Genesis({ url, project: 'shop' });
  const count = async (phase: 'OPEN' | 'COMPLETED'): Promise<number> => {
    const found = await genesis.tasks({ phase });
    if (isProblem(found)) throw new Error(found.detail);
    return found.tasks.length;
  };
  return { url, env, cwd, openCount: await count('OPEN'), countDone: () => count('COMPLETED') };
}

const example = (path: string, projectFolder = published.bareProject): string =>
  join(projectFolder, PACKAGE, 'examples', path);

const missingBash5 = (): string | null =>
  spawnSync('bash', ['-c', '[[ -n $EPOCHREALTIME ]]']).status === 0 ? null : 'bash 5 is not installed';
/** The system's Python may have boto3 where the first on the PATH does not. */
const PYTHON_WITH_BOTO3 = ['python3', '/usr/bin/python3'].find(
  (python) => spawnSync(python, ['-c', 'import boto3']).status === 0,
);

/** Every example, each run by a test below: a new example needs an entry here and a test. */
const EXAMPLES = [
  'audit/check_proof.py',
  'audit/primitives.py',
  'bash/worker.sh',
  'claude-code/play.ts',
  'dynamodb-boto3/claim.py',
  'embed.ts',
  'inbox-bash/agent.sh',
  'iterate/project/agent.sh',
  'iterate/run.sh',
  'python/worker.py',
  'run/agent.sh',
  'stores/log-store.mjs',
  'stores/log-store.test.mjs',
  'stores/shared-store.mjs',
  'stores/shared-store.test.mjs',
  'typescript/worker.ts',
  'zombie.ts',
];

/** Concurrent, because most of these tests wait for a child process. */
describe.concurrent('the published package', () => {
  describe('the tarball', () => {
    const filesOf = async (folder: string): Promise<string[]> => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative('.', join(entry.parentPath, entry.name)));
    };

    test('contains what the manifest lists and nothing else', () => {
      const topLevelNames = new Set(published.files.map((path) => path.split('/')[0]));
      expect([...topLevelNames].sort()).toEqual(
        [
          'CHANGELOG.md',
          'LICENSE',
          'README.md',
          'SECURITY.md',
          'dist',
          'docs',
          'examples',
          'package.json',
        ].sort(),
      );
    });

    test('contains all documents and examples', async () => {
      // Pictures are for the readers of the repository.
      const documents = (await filesOf('docs')).filter((path) => !path.startsWith('docs/images/'));
      const here = [...documents, ...(await filesOf('examples'))];
      expect(published.files).toEqual(expect.arrayContaining(here));
    });

    test('contains the program, its types and the files that it reads, and no tests', async () => {
      const built = published.files.filter((path) => path.startsWith('dist/'));
      const readByModules = (await filesOf('src'))
        .filter((path) => !path.endsWith('.ts') && !path.startsWith('src/core/'))
        .filter((path) => !path.includes('/testing/'))
        .map((path) => path.replace('src/', 'dist/'));
      expect(built).toEqual(expect.arrayContaining(readByModules));
      const others = built.filter((path) => !readByModules.includes(path));
      expect(others.filter((path) => !/\.(js|d\.ts)$/.test(path))).toEqual([]);
      // The folder `conformance` is the suite that others run on their stores.
      const isTestAsset = /\.(test|testing|child)\.|\/testing(\/|\.)|\/conformance\./;
      expect(built.filter((path) => isTestAsset.test(path))).toEqual([]);
    });

    test('contains every file that the manifest names, with its types', () => {
      const { bin, exports } = published.manifest;
      const targets = Object.values(exports).map((path) => path.replace('./', ''));
      const types = targets.map((path) => path.replace(/\.js$/, '.d.ts'));
      expect(published.files).toEqual(expect.arrayContaining([...Object.values(bin), ...targets, ...types]));
    });

    test('exports the names that tsconfig.json maps to the sources of a checkout', async () => {
      const { compilerOptions } = JSON.parse(await readFile('tsconfig.json', 'utf8'));
      const sources = Object.entries(published.manifest.exports).map(([name, path]) => [
        `genesis-fleet${name.slice(1)}`,
        [path.replace('./dist/', './src/').replace(/\.js$/, '.ts')],
      ]);
      expect(compilerOptions.paths).toEqual(Object.fromEntries(sources));
    });
  });

  describe('the installed package', () => {
    test.each(['gen', 'genesis-fleet'])('is started as %s', async (name) => {
      const { stdout } = await run('npx', ['--no-install', name, '--version'], {
        cwd: published.bareProject,
      });
      expect(stdout).toBe(`${published.manifest.version}\n`);
    });

    test('runs the demo, which succeeds and reports every guarantee', async () => {
      const { stdout } = await run('npx', ['--no-install', 'genesis-fleet', 'demo'], {
        cwd: published.bareProject,
        env: environment(),
      });
      expect(stdout.match(/^✓ /gm)).toHaveLength(6);
      expect(stdout).not.toContain('✗');
    });

    /** Compiles a program inside a project and returns the path of the result. */
    const compile = async (projectFolder: string, program: string): Promise<string> => {
      const cwd = await folderIn(projectFolder);
      await writeFile(join(cwd, 'program.ts'), program);
      const compiling = run(process.execPath, [TSC, ...STRICT_TSC_FLAGS, 'program.ts'], { cwd });
      await compiling.catch(({ stdout }) => expect.unreachable(stdout));
      return join(cwd, 'program.js');
    };

    const importing = (names: readonly string[]): string =>
      [
        ...names.map((name, index) => `import * as m${index} from 'genesis-fleet${name.slice(1)}';`),
        `for (const module of [${names.map((_, index) => `m${index}`)}]) console.log(Object.keys(module).length > 0);`,
      ].join('\n');

    const SDK_PROGRAM = `
import { Genesis, isProblem } from 'genesis-fleet';

const genesis = new Genesis({ url: process.argv[2] ?? '', project: 'shop' });
const summary = await genesis.work({ agent_id: 'agent-a' }, async ({ task_id, briefing }, { signal }) => {
  signal.throwIfAborted();
  return { made: briefing?.description ?? task_id };
});
const done = await genesis.tasks({ phase: 'COMPLETED' });
if (isProblem(done)) throw new Error(done.detail);
console.log(summary.outcomes.filter(({ reason }) => reason === 'ACCEPTED').length, done.tasks.length);
`;

    test('compiles in a strict program without any driver, whose agent completes a whole plan', async (context) => {
      const { bareProject: bare, manifest } = published;
      const names = Object.keys(manifest.exports).filter((name) => !DATABASE_EXPORTS.includes(name));
      const program = await compile(bare, `${importing(names)}${SDK_PROGRAM}`);
      const { url, env, cwd, openCount } = await servePlan(context, bare);
      const { stdout } = await run(process.execPath, [program, url], { cwd, env });
      expect(openCount).toBeGreaterThan(0);
      expect(stdout).toBe(`${'true\n'.repeat(names.length)}${openCount} ${openCount}\n`);
    });

    test('compiles in a strict program that imports every database store if the drivers are installed', async () => {
      const program = await compile(published.fullProject, importing(DATABASE_EXPORTS));
      const { stdout } = await run(process.execPath, [program], {
        cwd: published.fullProject,
        env: environment(),
      });
      expect(stdout).toBe('true\n'.repeat(DATABASE_EXPORTS.length));
    });
  });

  describe('an example of the installed package', async () => {
    test('has a test in this file', () => {
      const programs = published.files.filter((path) => /^examples\/.*\.(ts|mjs|sh|py)$/.test(path));
      expect(programs.sort()).toEqual(EXAMPLES.map((path) => `examples/${path}`));
    });

    test('embed.ts claims a task of the plan and submits its result', async () => {
      const cwd = await folderIn(published.bareProject);
      await cp(example('plan.yaml'), join(cwd, 'examples/plan.yaml'));
      const { stdout } = await run(TSX, [example('embed.ts')], { cwd, env: environment() });
      expect(stdout).toMatch(/^A-001-schema [\s\S]*accepted: true/);
    });

    test('zombie.ts shows that the late result is refused', async () => {
      const cwd = await folderIn(published.bareProject);
      const { stdout } = await run(TSX, [example('zombie.ts')], { cwd, env: environment() });
      expect(stdout).toMatch(/^agent-alice submits {3}STALE_GENERATION, her work is kept as res_/m);
    });

    test.each(['log-store', 'shared-store'])(
      'stores/%s.mjs passes the suite of the package',
      async (kind) => {
        const cwd = await folderIn(published.bareProject);
        await cp(example('stores'), cwd, { recursive: true });
        const args = ['--test', '--test-reporter=tap', `${kind}.test.mjs`];
        const { stdout } = await run(process.execPath, args, { cwd, env: environment(), maxBuffer: 2 ** 26 });
        expect(stdout).toMatch(/^# pass \d{3}\n# fail 0$/m);
      },
    );

    test('stores/log-store.mjs is served by the installed gen', async (context) => {
      const cwd = await folderIn(published.bareProject);
      await cp(example('stores'), cwd, { recursive: true });
      const store = `module:${join(cwd, 'log-store.mjs')}?folder=${encodeURIComponent(join(cwd, 'data'))}`;
      const genesis = new Genesis({
        url: await serve(context, published.bareProject, store),
        project: 'shop',
      });
      const planned = await genesis.putPlan(await readFile(example('plan.yaml'), 'utf8'));
      expect(planned).toMatchObject({ version: 1, task_count: expect.any(Number) });
    });

    const testWorker = (name: string, command: () => readonly [string, ...string[]]): void =>
      test(`${name} completes a whole plan`, async (context) => {
        const { env, cwd, openCount, countDone } = await servePlan(context, published.bareProject);
        const [program, ...args] = command();
        const { stdout } = await run(program, args, { cwd, env });
        expect(stdout.match(/ generation 1: ACCEPTED$/gm)).toHaveLength(openCount);
        expect(stdout).toMatch(/\nAll work of shop is done\.\n$/);
        expect(await countDone()).toBe(openCount);
      });

    testWorker('typescript/worker.ts', () => [TSX, example('typescript/worker.ts')]);
    onProgram('examples/bash', missingProgram('bash', 'curl'), () =>
      testWorker('bash/worker.sh', () => [example('bash/worker.sh')]),
    );
    onProgram('examples/python', missingProgram('python3'), () =>
      testWorker('python/worker.py', () => ['python3', example('python/worker.py')]),
    );

    onProgram('examples/audit', missingProgram('python3'), () =>
      test('audit/check_proof.py, with primitives.py, accepts a proof and refuses a changed one', async () => {
        const cwd = await folderIn(published.bareProject);
        const signer = newSigner('package');
        const log = new AuditedLog({ tenant_id: 'acme', project_id: 'shop' }, signer).fill(20);
        const proof = log.inclusionProof(3, 20, true);
        await writeFile(join(cwd, 'proof.json'), JSON.stringify(proof));
        await writeFile(join(cwd, 'changed.json'), JSON.stringify({ ...proof, index: 4 }));
        const check = (file: string) =>
          run('python3', ['-B', example('audit/check_proof.py'), file], { cwd, env: environment() });
        expect((await check('proof.json')).stdout).toMatch(/^ok/);
        await expect(check('changed.json')).rejects.toMatchObject({
          code: 1,
          stdout: expect.stringContaining('LEAF_MISMATCH'),
        });
      }),
    );

    onProgram('examples/iterate', missingProgram('bash', 'bwrap', 'git'), () =>
      test('iterate/run.sh, with project/agent.sh, goes from a failing test to converged code', async () => {
        const folder = join(await folderIn(published.bareProject), 'sums');
        const env = environment({ GEN: `${process.execPath} ${mainOf(published.bareProject)}` });
        const { stdout } = await run('bash', [example('iterate/run.sh'), folder], { env });
        expect(stdout).toContain('APPROVED. The edge has converged with this candidate.');
        expect(await readFile(join(folder, 'sum.js'), 'utf8')).toContain('a + b');
      }),
    );

    onProgram('examples/run', missingProgram('bash'), () =>
      test('run/agent.sh completes a whole plan through gen run', async (context) => {
        const { env, cwd, openCount, countDone } = await servePlan(context, published.bareProject);
        await gen(published.bareProject, cwd, env, 'run', '--loop', '--', example('run/agent.sh'));
        expect(await countDone()).toBe(openCount);
      }),
    );

    onProgram('examples/inbox-bash', missingBash5(), () =>
      test('inbox-bash/agent.sh gets the outcomes that its README describes', async (context) => {
        const cwd = await folderIn(published.bareProject);
        const here = (...args: string[]) => gen(published.bareProject, cwd, environment(), ...args);
        await here('init', '--name', 'shop', '--intent', 'Sell shoes');
        await here('spawn', '--type', 'feature', '--id', 'REQ-F-AUTH-001', '--reason', 'people sign in');
        const { failed } = startGen(
          context,
          published.bareProject,
          cwd,
          environment(),
          'serialise',
          '--watch',
        );
        const agent = (GENESIS_AGENT: string) => {
          const env = environment({ GENESIS_AGENT });
          const words = ['REQ-F-AUTH-001', 'design_code'];
          // An agent without an outcome waits for ever, so a failure of the server ends the test.
          return Promise.race([run(example('inbox-bash/agent.sh'), words, { cwd, env }), failed]);
        };
        await expect(agent('one')).rejects.toMatchObject({
          code: 1,
          stdout: expect.stringMatching(/^REQ-F-AUTH-001 design_code generation 1: NOT_CONVERGED /),
        });
        await expect(agent('two')).rejects.toMatchObject({
          code: 1,
          stderr: expect.stringContaining('claim refused'),
        });
      }),
    );

    test('claude-code/play.ts completes a whole plan with the configuration from gen setup', async (context) => {
      const { fullProject: full } = published;
      const { url, env, cwd, openCount, countDone } = await servePlan(context, full);
      await gen(full, cwd, env, 'setup', 'claude', '--url', url);
      const { stdout } = await run(TSX, [example('claude-code/play.ts', full), cwd], { cwd, env });
      expect(stdout).toMatch(/\nthe plan is done\n$/);
      expect(await countDone()).toBe(openCount);
    });

    await onDatabase('dynamodb', startDynamodb, (database) => {
      afterAll(() => database.stop());
      const missing = PYTHON_WITH_BOTO3 === undefined ? 'boto3 is not installed for python3' : null;
      return onProgram('examples/dynamodb-boto3', missing, () =>
        test('dynamodb-boto3/claim.py claims an edge that a coordinator then refuses to others', async (context) => {
          const { fullProject: full } = published;
          const cwd = await folderIn(full);
          const tables = Object.assign(new URL(database.url), { pathname: `/package-${randomUUID()}` }).href;
          const credentials = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };
          const env = environment({ ...credentials, GENESIS_STORE: tables, GENESIS_PROJECT: 'shop' });
          await gen(full, cwd, env, 'migrate', '--store', tables);
          const claim = ['claim', 'REQ-F-AUTH-001', 'design_code', '--agent', 'cicd-pipeline-42'];
          const words = [example('dynamodb-boto3/claim.py', full), ...claim];
          const { stdout } = await run(PYTHON_WITH_BOTO3 ?? '', words, { cwd, env });
          expect(JSON.parse(stdout)).toMatchObject({ reason: 'GRANTED', generation: 1 });
          const url = await serve(context, full, tables, env);
          const secondClaimArgs = ['task', 'claim', 'REQ-F-AUTH-001#design_code', '--url', url, '--json'];
          await expect(gen(full, cwd, env, ...secondClaimArgs)).rejects.toMatchObject({
            code: 1,
            stdout: expect.stringMatching(/"DENIED_ACTIVE_CLAIM".*"cicd-pipeline-42"/s),
          });
        }),
      );
    });
  });
});
