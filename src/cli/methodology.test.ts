import { execFile } from 'node:child_process';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { FrozenTime } from '../../test/support/frozen-time.js';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { Coordinator } from '../coordinator/coordinator.js';
import { startServer } from '../server/server.js';
import { openWorkspaceStore } from '../workspace/store.js';
import { Workspace } from '../workspace/workspace.js';
import { startPlannedHarness } from './testing/cli-harness.js';
import { runGen, type TerminalOptions } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const runForJson = async (terminal: TerminalOptions, ...argv: string[]) => {
  const { out, code } = await runGen(terminal, ...argv, '--json');
  return { code, reply: JSON.parse(out) as Record<string, never> };
};

const logOf = ({ cwd }: TerminalOptions) =>
  readFile(join(cwd, '.ai-workspace/events/events.jsonl'), 'utf8').catch(() => '');

/** Submits as an agent whose role may not converge the edge, so that the result is escalated to a person. */
async function escalateEdge({ cwd }: TerminalOptions): Promise<void> {
  const { store, blobs, key } = await openWorkspaceStore(new Workspace(cwd), () => {});
  const coordinator = await Coordinator.open({ store, blobs });
  const holder = { agent_id: 'agent-b', session_id: 's-b', agent_role: 'observer' };
  await coordinator.claims.claimTask(key, { feature_id: FEATURE_ID, edge: 'intent_requirements', ...holder });
  const task_id = `${FEATURE_ID}#intent_requirements`;
  const draft = { task_id, session_id: 's-b', generation: 1, result_data: 'a draft' };
  const refused = await coordinator.holder.submitResult(key, draft);
  const failing = 'failing' in refused ? (refused.failing ?? []) : [];
  const details = failing.map(({ name }) => ({ name, result: 'pass' }));
  const total = details.length;
  await coordinator.holder.submitResult(key, {
    ...draft,
    evaluators: { passed: total, failed: 0, skipped: 0, total, details },
  });
  coordinator.close();
  await store.close();
}

// req: RTE-014
it('start prints the next step, the reasons and the command, and writes nothing', async () => {
  const terminal = await createProject();
  const { code, out } = await runGen(terminal, 'start');
  expect(code).toBe(0);
  expect(out).toMatch(/State: .*IN_PROGRESS/);
  expect(out).toContain(`${FEATURE_ID} on intent_requirements`);
  expect(out).toContain(`gen task claim ${FEATURE_ID}#intent_requirements`);
  expect(await logOf(terminal)).toBe('');
  expect((await runGen(terminal, 'start', '--feature', 'REQ-F-NONE-001')).code).not.toBe(0);
});

it('every methodology command outside a workspace refers to gen init', async () => {
  const terminal = { cwd: await temporaryFolder(), env: { GENESIS_AGENT: 'a' } };
  for (const argv of [['start'], ['status', '--health'], ['gaps'], ['checkpoint'], ['review'], ['zoom']]) {
    const { code, err } = await runGen(terminal, ...argv);
    expect(code, argv.join(' ')).toBe(1);
    expect(err, argv.join(' ')).toContain('gen init');
  }
});

it('start exits with 3 if only a person can continue', async () => {
  const terminal = await createProject({ 'specification/INTENT.md': '' });
  const { code, out } = await runGen(terminal, 'start');
  expect(out).toContain('NEEDS_INTENT');
  expect(code).toBe(3);
});

it('status shows features, one feature, health and a Gantt chart within 80 columns', async () => {
  const terminal = await createProject();
  for (const argv of [[], ['--feature', FEATURE_ID], ['--health'], ['--gantt']]) {
    const { out } = await runGen({ ...terminal, env: { ...terminal.env, NO_COLOR: '1' } }, 'status', ...argv);
    expect(out).toContain(argv[0] === '--health' ? 'not healthy' : FEATURE_ID);
    if (argv[0] !== '--gantt')
      for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  }
  expect((await runGen(terminal, 'status', '--feature', 'REQ-F-NONE-001')).code).toBe(1);
  expect((await runGen(terminal, 'status', '--write')).code).toBe(2);
  const { reply } = await runForJson(terminal, 'status');
  expect(reply).toMatchObject({
    state: 'IN_PROGRESS',
    features: [{ feature_id: FEATURE_ID, requirements: [FEATURE_ID] }],
  });
});

it('status tells the holder to submit, as start does, and tells other agents that no work is available', async () => {
  const terminal = await createProject();
  const subject = `${FEATURE_ID}#intent_requirements`;
  expect((await runGen(terminal, 'task', 'claim', subject, '--role', 'architect')).code).toBe(0);
  const start = (await runForJson(terminal, 'start')).reply;
  expect(start).toMatchObject({ next: `gen task submit ${subject} --drafts` });
  const status = (await runForJson(terminal, 'status')).reply;
  expect(status).toMatchObject({
    start_would: { feature: FEATURE_ID, command: `gen task submit ${subject} --drafts` },
    next_actions: [{ command: `gen task submit ${subject} --drafts` }],
  });
  expect((await runGen(terminal, 'status')).out).not.toContain('no work is available');
  const other = await runGen(terminal, 'status', '--agent', 'agent-z');
  expect(other.out).toContain('no work is available');
});

it('status --gantt --write replaces its own page, and never another file', async () => {
  const terminal = await createProject();
  const page = join(terminal.cwd, '.ai-workspace/STATUS.md');
  expect((await runGen(terminal, 'status', '--gantt', '--write')).code).toBe(0);
  expect((await runGen(terminal, 'status', '--gantt', '--write')).code).toBe(0);
  expect(await readFile(page, 'utf8')).toContain('```mermaid\ngantt');
  await writeFile(page, '# Mine\n');
  expect((await runGen(terminal, 'status', '--gantt', '--write')).code).toBe(1);
  expect(await readFile(page, 'utf8')).toBe('# Mine\n');
});

it('status --log reads the log of another tool without changing it', async () => {
  const terminal = await createProject();
  const lineOfType = (event_type: string, more: object) =>
    JSON.stringify({
      event_type,
      timestamp: '2026-02-20T10:00:00Z',
      project: 'x',
      feature: 'REQ-F-OLD-001',
      ...more,
    });
  const log = [
    lineOfType('edge_started', { edge: 'intent→requirements' }),
    'no json',
    lineOfType('edge_converged', { edge: 'intent→requirements' }),
  ];
  await writeProjectFile(terminal.cwd, 'other/old.jsonl', log.join('\n'));
  const { code, reply } = await runForJson(terminal, 'status', '--log', 'other/old.jsonl');
  expect(code).toBe(0);
  expect(reply.features).toContainEqual(
    expect.objectContaining({ feature_id: 'REQ-F-OLD-001', edges_converged: 1 }),
  );
  expect(await readFile(join(terminal.cwd, 'other/old.jsonl'), 'utf8')).toBe(log.join('\n'));
  expect((await runGen(terminal, 'status', '--log', 'other/none.jsonl')).code).toBe(1);
});

it('status shows features from files that are not in the log yet', async () => {
  const terminal = await createProject();
  expect((await runGen(terminal, 'checkpoint')).code).toBe(0);
  await writeProjectFile(
    terminal.cwd,
    '.ai-workspace/features/active/REQ-F-NEW-001.yml',
    'feature: REQ-F-NEW-001\ntitle: New\n',
  );
  expect((await runGen(terminal, 'status')).out).toContain('REQ-F-NEW-001');
  await writeProjectFile(terminal.cwd, '.ai-workspace/profiles/standard.yml', 'profile: [');
  const broken = await runGen(terminal, 'status');
  expect(broken.code).toBe(1);
  expect(broken.err).toMatch(/profiles\/standard\.yml/);
});

it('spawn creates a child feature, and fold-back never overwrites its file', async () => {
  const terminal = await createProject();
  const spawned = await runForJson(
    terminal,
    'spawn',
    '--type',
    'spike',
    '--parent',
    FEATURE_ID,
    '--edge',
    'design_code',
    '--reason',
    'which?',
  );
  expect(spawned.reply).toMatchObject({
    reason: 'SPAWNED',
    feature_id: 'REQ-F-SPIKE-001',
    blocks: 'design_code',
  });
  const foldBack = ['spawn', 'fold-back', 'REQ-F-SPIKE-001'];
  const file = join(terminal.cwd, '.ai-workspace/features/fold-back/REQ-F-SPIKE-001.md');
  const early = await runGen(terminal, ...foldBack, '--summary', 'too early');
  expect(early.code).toBe(1);
  expect(early.err).toContain('--answered');
  await expect(stat(file)).rejects.toThrow();
  await writeProjectFile(terminal.cwd, '.ai-workspace/features/fold-back/REQ-F-SPIKE-001.md', '# By hand\n');
  expect((await runGen(terminal, ...foldBack, '--answered')).code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe('# By hand\n');
  expect((await runGen(terminal, ...foldBack, '--answered')).err).toContain('ALREADY_FOLDED_BACK');
  expect((await runGen(terminal, 'spawn', 'fold-back', '../../x', '--summary', 'y')).code).toBe(2);
});

it('spawn names the missing option', async () => {
  const terminal = await createProject();
  expect((await runGen(terminal, 'spawn')).code).toBe(2);
  expect((await runGen(terminal, 'spawn', '--type', 'feature', '--reason', 'x')).err).toContain('--id');
  expect((await runGen(terminal, 'spawn', '--type', 'spike', '--reason', 'x')).err).toContain('--parent');
  expect((await runGen(terminal, 'spawn', '--type', 'whim', '--reason', 'x')).code).toBe(2);
  const unknown = await runGen(
    terminal,
    'spawn',
    '--type',
    'spike',
    '--parent',
    'REQ-F-NONE-001',
    '--reason',
    'x',
  );
  expect(unknown.code).toBe(1);
  expect(unknown.err).toContain('UNKNOWN_FEATURE');
});

// req: EVT-021
it('checkpoint writes a read-only file, with the same hash for the same context', async () => {
  const terminal = await createProject();
  const first = await runForJson(terminal, 'checkpoint', '--message', 'one');
  const second = await runForJson(terminal, 'checkpoint');
  expect(first.reply.snapshot).toMatchObject({ message: 'one', git_ref: null });
  const folder = join(terminal.cwd, '.ai-workspace/snapshots');
  const names = await readdir(folder);
  expect(names).toHaveLength(2);
  for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o444);
  const hashOf = ({ snapshot }: { snapshot?: { context_hash: string } }) => snapshot?.context_hash;
  expect(hashOf(second.reply)).toBe(hashOf(first.reply));
  await writeProjectFile(terminal.cwd, 'specification/requirements.md', 'changed\n');
  expect(hashOf((await runForJson(terminal, 'checkpoint')).reply)).not.toBe(hashOf(first.reply));
});

it('gaps and trace find the tags in the project’s files', async () => {
  const terminal = await createProject({
    'src/login.ts': `// Implements: ${FEATURE_ID}\n`,
    'src/plain.ts': 'export {}\n',
  });
  const dry = await runForJson(terminal, 'gaps', '--dry-run');
  expect(dry.code).toBe(1);
  expect(dry.reply).toMatchObject({ result: 'GAPS', event_id: null, total_req_keys: 1, partial_coverage: 1 });
  expect(await logOf(terminal)).toBe('');
  const written = await runGen(terminal, 'gaps');
  expect(written.out).toContain('src/plain.ts');
  expect(written.out).toContain('Written to the log');
  expect(await logOf(terminal)).toContain('gaps_validated');
  await writeProjectFile(
    terminal.cwd,
    'tests/login.test.ts',
    `// Validates: ${FEATURE_ID}\nlog({ req: '${FEATURE_ID}' })\n`,
  );
  await writeProjectFile(terminal.cwd, 'src/plain.ts', `// Implements: ${FEATURE_ID}\n`);
  expect((await runForJson(terminal, 'gaps')).code).toBe(0);
  const traced = await runForJson(terminal, 'trace', FEATURE_ID);
  expect(traced.reply).toMatchObject({
    features: [{ feature_id: FEATURE_ID }],
    places: {
      implements: [{ file: 'src/login.ts', line: 1 }, {}],
      validates: [{ file: 'tests/login.test.ts' }],
    },
  });
  expect((await runGen(terminal, 'trace', 'REQ-F-NONE-001')).code).toBe(1);
  expect((await runGen(terminal, 'trace', 'nonsense')).code).toBe(2);
  expect((await runGen(terminal, 'trace', 'no sense')).code).toBe(2);
});

// req: EVT-022
it('review shows the candidate, and decides on that candidate only', async () => {
  const terminal = await createProject();
  await runGen(terminal, 'checkpoint');
  expect((await runGen(terminal, 'review')).out).toContain('No reviews are pending');
  await escalateEdge(terminal);
  const drafts = '.ai-workspace/agents/agent-b/drafts/REQ-F-AUTH-001+u/intent_requirements';
  await writeProjectFile(terminal.cwd, `${drafts}/needs.md`, 'a draft\n');
  const shown = await runGen(terminal, 'review', '--feature', FEATURE_ID);
  expect(shown.out).toMatch(/candidate +[0-9a-f]{64}/);
  // A draft that was not submitted is not part of the review.
  expect(shown.out).not.toContain('needs.md');
  expect(shown.out).toMatch(/[1-9]\d* of \d+ checks passed, 0 failed/);
  expect(shown.out).toContain('agent-b');
  const made = await runForJson(
    terminal,
    'review',
    'link',
    FEATURE_ID,
    '--for',
    'rita@example.com',
    '--days',
    '2',
  );
  expect(made.reply).toMatchObject({ reviewer: 'link:rita@example.com', url: null });
  expect(made.reply.path).toMatch(/^\/reviews\/link\?token=rvl_/);
  expect((await runGen(terminal, 'review', 'link', FEATURE_ID)).code).toBe(2);
  expect((await runGen(terminal, 'review', 'link', FEATURE_ID, '--for', 'rita', '--days', '0')).code).toBe(2);
  expect((await runGen(terminal, 'review', '--approve')).code).toBe(2);
  expect((await runGen(terminal, 'review', '--feature', FEATURE_ID, '--approve', '--reject')).code).toBe(2);
  expect((await runGen(terminal, 'review', '--feature', FEATURE_ID, '--comment', 'x')).code).toBe(2);
  const decided = await runGen(terminal, 'review', '--feature', FEATURE_ID, '--approve', '--comment', 'fine');
  expect(decided.code).toBe(0);
  expect(decided.out.indexOf('candidate')).toBeLessThan(
    decided.out.indexOf('has converged with this candidate'),
  );
  expect(await logOf(terminal)).toContain('review_completed');
  expect((await runGen(terminal, 'review', '--feature', FEATURE_ID, '--approve')).code).toBe(1);
});

// req: EVT-024
it('release creates a version once, and never overwrites its manifest', async () => {
  const terminal = await createProject();
  expect((await runGen(terminal, 'release')).code).toBe(2);
  expect((await runGen(terminal, 'release', '--version', '../x')).code).toBe(2);
  const path = 'docs/releases/release-1.0.0.yml';
  expect((await runForJson(terminal, 'release', '--version', '1.0.0', '--dry-run')).reply).toMatchObject({
    reason: 'READY',
    path: null,
  });
  await expect(stat(join(terminal.cwd, path))).rejects.toThrow();
  expect((await runGen(terminal, 'release', '--version', '1.0.0', '--tag')).err).toContain(
    'no commit to tag',
  );
  expect((await runForJson(terminal, 'release', '--version', '1.0.0')).reply).toMatchObject({
    reason: 'RELEASED',
    path,
  });
  expect(await readFile(join(terminal.cwd, path), 'utf8')).toContain('version: 1.0.0');
  expect((await runGen(terminal, 'release', '--version', '1.0.0')).code).toBe(1);
  expect((await runGen(terminal, '--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it('release lists what it does not include', async () => {
  const terminal = await createProject();
  const plain = { ...terminal, env: { ...terminal.env, NO_COLOR: '1' } };
  const { code, out } = await runGen(plain, 'release', '--version', '1.0.0', '--dry-run');
  expect(code).toBe(0);
  expect(out).toContain('✓ No feature is critical, so none had to converge.');
  expect(out).toContain(`! No feature has converged, so this release has none. Not included: ${FEATURE_ID}.`);
  expect(out).toContain('! Known gaps: 1.');
});

it('trace accepts the id of a feature that is not a requirement key', async () => {
  const terminal = await createProject();
  const args = ['spawn', '--type', 'feature', '--id', 'CART', '--reason', 'people buy more than one thing'];
  expect((await runGen(terminal, ...args)).code).toBe(0);
  const { code, out } = await runGen(terminal, 'trace', 'CART');
  expect([code, out]).toEqual([0, expect.stringContaining('CART')]);
});

it('checkpoint explains why it has no commit', async () => {
  const terminal = await createProject();
  expect((await runGen(terminal, 'checkpoint')).out).toContain('this is not a git repository');
  await promisify(execFile)('git', ['init', '-q'], { cwd: terminal.cwd });
  expect((await runGen(terminal, 'checkpoint')).out).toContain('nothing has been committed yet');
});

it('export in a workspace exports the workspace’s project', async () => {
  const terminal = await createProject();
  await runGen(terminal, 'checkpoint');
  const { code, out } = await runGen(terminal, 'export');
  expect([code, out]).toEqual([0, expect.stringContaining('checkpoint_created')]);
});

it('zoom refers to gen init if the project has no methodology', async () => {
  const { terminal } = await startPlannedHarness();
  const { code, err } = await runGen(terminal, 'zoom');
  expect([code, err]).toEqual([1, expect.stringContaining('gen init')]);
});

it('status reports a project without events as not found', async () => {
  const { terminal } = await startPlannedHarness();
  const { code, out, err } = await runGen(terminal, 'status', '--project', 'shpo');
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(/UNKNOWN_PROJECT: There is no project shpo\. Did you mean shop\?/);
  expect((await runGen(terminal, 'status', '--project', 'shop')).code).toBe(0);
});

it('a command in a workspace says that the given server has no project with the name of the workspace', async () => {
  const { terminal: other } = await startPlannedHarness();
  const named = { '.ai-workspace/coordination.yml': 'project: {name: Office, project_id: office}\n' };
  const workspace = await createProject(named);
  const url = ['--url', String(other.env?.GENESIS_URL)];
  for (const command of [['next'], ['agents']]) {
    const { code, err } = await runGen(workspace, ...command, ...url);
    expect(code).toBe(1);
    expect(err).toContain('UNKNOWN_PROJECT');
    expect(err.replace(/\s+/g, ' ')).toContain("has no project of this workspace's name");
  }
  const { err } = await runGen(workspace, 'agents', ...url, '--project', 'none');
  expect(err.replace(/\s+/g, ' ')).not.toContain("this workspace's name");
  expect((await runGen(workspace, 'agents')).code).toBe(0);
});

it('zoom shows the graph, and one edge in detail', async () => {
  const terminal = await createProject();
  expect((await runGen(terminal, 'zoom')).out).toContain('Construction');
  expect((await runGen(terminal, 'zoom', '--edge', 'design→code')).out).toContain('Checks');
  const unknown = await runGen(terminal, 'zoom', '--edge', 'a→b');
  expect(unknown.code).toBe(1);
  expect(unknown.err).toContain('intent_requirements');
});

it('while another process has the log open, commands can read, and a write refers to GENESIS_URL', async () => {
  const time = FrozenTime.begin();
  const terminal = await createProject();
  await runGen(terminal, 'checkpoint');
  const { store, blobs } = await openWorkspaceStore(new Workspace(terminal.cwd), () => {});
  onTestFinished(() => store.close());
  for (const argv of [
    ['status'],
    ['start'],
    ['trace', FEATURE_ID],
    ['zoom'],
    ['gaps', '--dry-run'],
    ['review'],
  ]) {
    expect((await runGen(terminal, ...argv)).out, argv.join(' ')).not.toBe('');
  }
  const refused = await time.advanceUntil(runGen(terminal, 'checkpoint'));
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('GENESIS_URL');
  const server = await startServer({ store, blobs, port: 0 });
  onTestFinished(() => server.stop());
  const there = { ...terminal, env: { ...terminal.env, GENESIS_URL: server.url } };
  expect((await runGen(there, 'checkpoint')).code).toBe(0);
  const [local, remote] = [await runForJson(terminal, 'status'), await runForJson(there, 'status')];
  expect(remote.reply).toEqual(local.reply);
});

it('status reports a damaged log and refers to gen verify', async () => {
  const terminal = await createProject();
  await runGen(terminal, 'checkpoint');
  const file = join(terminal.cwd, '.ai-workspace/events/events.jsonl');
  await chmod(file, 0o644);
  await writeFile(file, (await readFile(file, 'utf8')).replace('shop', 'shoq'));
  const { code, err } = await runGen(terminal, 'status');
  expect(code).toBe(1);
  expect(err).toContain('gen verify');
});
