import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { runGen } from './testing/terminal.js';
import { writeProjectFile } from './testing/workspace.js';

const read = (cwd: string, ...parts: string[]): Promise<string> =>
  readFile(join(cwd, '.ai-workspace', ...parts), 'utf8');

it('creates a workspace in an empty folder, and prints the next step', async () => {
  const cwd = await temporaryFolder();
  const made = await runGen(
    { cwd },
    'init',
    '--name',
    'My Shop!',
    '--kind',
    'library',
    '--intent',
    'Sell books',
  );
  expect(made).toMatchObject({ code: 0, err: '', out: expect.stringContaining('gen up') });
  expect(made.out).toContain(
    'Features use the profile full (kind library). To change it, set project.default_profile',
  );
  expect(made.out).not.toContain('INTENT.md');
  expect(await read(cwd, 'coordination.yml')).toMatch(/project_id: "my-shop"[\s\S]*mode: multi/);
  expect(await read(cwd, 'context', 'project_constraints.yml')).toContain('default_profile: full');
  expect(await readFile(join(cwd, 'specification', 'INTENT.md'), 'utf8')).toContain('Sell books');
  expect(await readdir(join(cwd, '.ai-workspace', 'profiles'))).toHaveLength(6);
  expect(await readFile(join(cwd, '.genesis', '.gitignore'), 'utf8')).toMatch(/^log\/\nhandles\/$/m);
  const [lastType = ''] =
    (await read(cwd, 'events', 'events.jsonl')).match(/"event_type":"[^"]+"/g)?.slice(-1) ?? [];
  expect(lastType).toBe('"event_type":"project_initialized"');
  expect(await runGen({ cwd }, 'verify')).toMatchObject({
    code: 0,
    out: expect.stringContaining('default/my-shop'),
  });
});

it('changes nothing the second time, and overwrites only graph/ with --force', async () => {
  const cwd = await temporaryFolder();
  await runGen({ cwd }, 'init', '--name', 'shop');
  const log = await read(cwd, 'events', 'events.jsonl');
  const again = JSON.parse((await runGen({ cwd }, 'init', '--json')).out);
  const ignored = await runGen({ cwd }, 'init', '--intent', 'Sell books');
  expect(ignored.err).toContain('--intent was ignored: specification/INTENT.md already exists.');
  expect(Math.max(...ignored.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(ignored.out).toContain('write specification/INTENT.md');
  expect(again).toMatchObject({ made: [], renewed: [], configured: true });
  expect(await read(cwd, 'events', 'events.jsonl')).toBe(log);

  const topology = await read(cwd, 'graph', 'graph_topology.yml');
  await writeFile(join(cwd, '.ai-workspace', 'graph', 'graph_topology.yml'), '# mine\n');
  await writeFile(
    join(cwd, '.ai-workspace', 'agent_roles.yml'),
    `${await read(cwd, 'agent_roles.yml')}# mine\n`,
  );
  const forced = JSON.parse((await runGen({ cwd }, 'init', '--force', '--json')).out);
  expect(forced.renewed).toEqual(['.ai-workspace/graph/graph_topology.yml']);
  expect(forced.kept).toContain('.ai-workspace/agent_roles.yml');
  expect(await read(cwd, 'graph', 'graph_topology.yml')).toBe(topology);
  expect(await read(cwd, 'agent_roles.yml')).toMatch(/# mine\n$/);
});

it('changes as little as it can in an existing workspace, and hides no file of another tool from git', async () => {
  const cwd = await temporaryFolder();
  const topology =
    'asset_types:\n  idea: {description: I}\n  text: {description: T}\ntransitions:\n  - {name: Idea → Text, source: idea, target: text}\n';
  const files = {
    '.ai-workspace/graph/graph_topology.yml': topology,
    '.ai-workspace/.gitignore': 'mine/\n',
    '.genesis/.gitignore': '*\n',
    '.genesis/genesis/engine.py': 'print(1)\n',
    'specification/core/INTENT.md': '# Write\n',
  };
  for (const [path, text] of Object.entries(files)) await writeProjectFile(cwd, path, text);
  execFileSync('git', ['init', '-q'], { cwd });
  const made = await runGen({ cwd }, 'init', '--name', 'shop');
  expect(made, made.err).toMatchObject({ code: 0 });
  const added = execFileSync('git', ['status', '--short', '-uall'], { cwd, encoding: 'utf8' });
  expect(added.split('\n').map((line) => line.slice(3))).toEqual(
    expect.arrayContaining(['.genesis/genesis/engine.py', '.ai-workspace/coordination.yml']),
  );
  expect(added).not.toMatch(/profiles|agent_roles|edges|constraints|store\.json/);
  expect(await read(cwd, '.gitignore')).toMatch(/^mine\/\nevents\/store\.json$/m);
  expect(await runGen({ cwd }, 'status')).toMatchObject({ code: 0 });
  expect((await runGen({ cwd }, 'zoom')).out).toContain('text');
});

it('asks five questions at a terminal, and uses the detected values as defaults', async () => {
  const cwd = await temporaryFolder();
  const manifest = {
    scripts: { test: 'vitest' },
    devDependencies: { typescript: '5', '@biomejs/biome': '2' },
  };
  await writeFile(join(cwd, 'package.json'), JSON.stringify(manifest));
  const terminal = { cwd, stdin: 'Bookshop\nservice\n\n\nSell books\n', isStdinTty: true };
  const { code, err } = await runGen(terminal, 'init');
  expect(code).toBe(0);
  expect(err.match(/\?/g)).toHaveLength(5);
  expect(err).toContain('[typescript]');
  const constraints = await read(cwd, 'context', 'project_constraints.yml');
  expect(constraints).toMatch(/primary: "?typescript/);
  expect(constraints).toMatch(/test_runner:\n {4}command: "?npm test/);
  expect(constraints).toMatch(/linter:\n {4}command: "?npx biome lint/);
  expect(await read(cwd, 'coordination.yml')).toContain('project_id: "bookshop"');
});

it.each([
  ['pyproject.toml', '[tool.pytest]\n[tool.ruff]', 'python', 'pytest'],
  ['go.mod', 'module shop', 'go', 'go test ./...'],
  ['Cargo.toml', '[package]', 'rust', 'cargo test'],
  ['package.json', '{broken', 'javascript', ''],
])('detects the language and the test runner from %s', async (file, text, language, testRunner) => {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, file), text);
  expect((await runGen({ cwd }, 'init')).code).toBe(0);
  const constraints = await read(cwd, 'context', 'project_constraints.yml');
  expect(constraints).toMatch(new RegExp(`primary: "?${language}`));
  expect(constraints).toContain(`test_runner:\n    command: "${testRunner}"`);
});

it('refuses an unknown kind, a symbolic link as the workspace, and invalid files', async () => {
  const cwd = await temporaryFolder();
  expect(await runGen({ cwd }, 'init', '--kind', 'castle')).toMatchObject({
    code: 2,
    err: expect.stringContaining('data-pipeline'),
  });
  await symlink('/nowhere', join(cwd, '.ai-workspace'));
  const blocked = await runGen({ cwd }, 'init');
  expect(blocked).toMatchObject({ code: 1, err: expect.stringContaining('is not a folder') });
  const faulty = await temporaryFolder();
  await mkdir(join(faulty, '.ai-workspace', 'graph'), { recursive: true });
  await writeFile(join(faulty, '.ai-workspace', 'graph', 'graph_topology.yml'), 'transitions: [\n');
  expect(await runGen({ cwd: faulty }, 'init')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/graph_topology\.yml:\d+:\d+/),
    out: expect.stringContaining('not in the log yet'),
  });
});

it('a workspace stays usable with a fault in one profile file, which is reported once', async () => {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, '.ai-workspace', 'profiles'), { recursive: true });
  await mkdir(join(cwd, '.ai-workspace', 'features', 'active'), { recursive: true });
  await writeFile(join(cwd, '.ai-workspace', 'profiles', 'mine.yml'), 'profile: [\n');
  await writeFile(
    join(cwd, '.ai-workspace', 'features', 'active', 'A.yml'),
    'feature: REQ-F-A-001\ntitle: readable\n',
  );
  const initialized = await runGen({ cwd }, 'init');
  expect(initialized).toMatchObject({ code: 0, out: expect.not.stringContaining('not in the log yet') });
  expect(initialized.err.match(/profiles\/mine\.yml:\d+:\d+/g)).toHaveLength(1);
  expect(await runGen({ cwd }, 'status')).toMatchObject({
    code: 0,
    out: expect.stringContaining('REQ-F-A-001'),
  });
});

it('requires the evidence of a runner in a new workspace that is made under a credential, and only there', async () => {
  const cwd = await temporaryFolder();
  const withToken = { cwd, env: { GENESIS_TOKEN: 'gck_live_of_an_admin' } };
  const made = await runGen(withToken, 'init', '--name', 'shop', '--intent', 'Sell books');
  expect(made.out).toContain('policy evidence: verified');
  expect(made.out).toContain('gen runner enrol --label NAME');
  expect((await runGen({ cwd }, 'status')).out).toMatch(/Evidence: +verified\. .*no runner is enrolled/);
  expect((await runGen({ cwd }, 'start')).out).toContain('no runner is enrolled');
  const openFolder = await temporaryFolder();
  expect((await runGen({ cwd: openFolder }, 'init', '--name', 'shop', '--intent', 'x')).out).not.toContain(
    'runner',
  );
  // An existing project keeps its policy.
  await runGen({ cwd: openFolder, env: withToken.env }, 'init');
  expect((await runGen({ cwd: openFolder }, 'status')).out).toMatch(/Evidence: +reported\./);
});
