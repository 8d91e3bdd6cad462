import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { git } from '../../test/support/git.js';
import { sha256Of, uploadCandidate } from '../../test/support/signing-runner.js';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { FILES } from '../../test/support/workspace-files.js';
import { Genesis } from '../client/genesis.js';
import { withResultCounts } from '../core/methodology/definition/convergence.js';
import { startHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const EDGE = 'REQ-F-A#design_code';
const ROLES = 'roles:\n  architect: { converge_edges: [design_code] }\n';
const CHECKLIST = `edge: "design→code"
checklist:
  - { name: compiles, type: deterministic, criterion: it compiles, required: true, command: "grep -rq ready src" }
  - { name: reads_well, type: agent, criterion: it reads well, required: true }
`;

/** A repository with one file, which the candidates below change. */
async function createRepository(): Promise<string> {
  const repo = await temporaryFolder();
  git(repo, 'init', '--quiet', '--initial-branch=main');
  await mkdir(join(repo, 'src'));
  await writeFile(join(repo, 'src/cart.txt'), 'before src/cart.txt');
  git(repo, 'add', '.');
  git(repo, 'commit', '--quiet', '-m', 'first');
  return repo;
}

async function openVerifiedProject() {
  const { terminal } = await startHarness();
  const url = terminal.env.GENESIS_URL;
  const env = { ...terminal.env, GENESIS_PROJECT: 'shop', PATH: process.env.PATH ?? '' };
  const key = join(terminal.cwd, 'keys/runner.pem');
  const client = new Genesis({ url, project: 'shop' });
  const files = { ...FILES, 'agent_roles.yml': ROLES, 'graph/edges/design_code.yml': CHECKLIST };
  expect(await client.methodology.init({ files })).toMatchObject({ success: true });
  expect(await client.putPolicy({ evidence: 'verified' })).toMatchObject({ evidence: 'verified' });
  const projectTerminal = { ...terminal, env };
  const granted = await client.claimTask({
    ...{ task_id: EDGE, agent_id: 'a', session_id: 's1', agent_role: 'architect' },
  });
  const claim_id = 'claim' in granted ? (granted.claim?.id ?? '') : '';
  const handle = { task_id: EDGE, session_id: 's1', claim_id };
  const propose = async (text: string, existing = ['src/cart.txt']) => {
    const { manifest, sha256 } = await uploadCandidate(client, { 'src/cart.txt': text }, existing);
    const proposed = await client.proposeCandidate({
      ...{ ...handle, expected_generation: 1, candidate_sha256: sha256 },
    });
    expect(proposed).toMatchObject({ reason: 'PROPOSED' });
    return manifest;
  };
  const submit = (result_data: unknown) =>
    client.submitResult({
      ...{ ...handle, generation: 1, result_data },
      evaluators: withResultCounts([
        { name: 'compiles', result: 'pass' },
        { name: 'reads_well', result: 'pass' },
      ]),
    });
  const runOnce = (...base: string[]) =>
    runGen(projectTerminal, 'runner', 'run', ...base, '--key', key, '--once', '--unsandboxed');
  return { terminal: projectTerminal, client, key, propose, submit, runOnce };
}

describe('gen runner', { timeout: 120_000 }, () => {
  it('enrols a key that only its owner can read, lists it and revokes it', async () => {
    const { terminal, key } = await openVerifiedProject();
    expect((await runGen(terminal, 'runner', 'list')).out).toContain('There are no runners');
    const blocked = await runGen(terminal, 'task', 'explain', EDGE);
    expect(blocked.out).toContain('Evidence is verified');
    expect(blocked.out).toContain('compiles: Not proposed yet (gen task propose); no runner is enrolled');
    const enrolled = await runGen(terminal, 'runner', 'enrol', '--label', 'build host', '--key', key);
    expect(enrolled.out).toContain(`was written to ${key}`);
    if (process.platform !== 'win32') expect((await stat(key)).mode & 0o777).toBe(0o600);
    const again = await runGen(terminal, 'runner', 'enrol', '--key', key, '--json');
    const { runner_id } = JSON.parse(again.out) as { runner_id: string };
    expect((await runGen(terminal, 'runner', 'list')).out).toMatch(/enrolled +build host/);
    const { out } = await runGen(terminal, 'task', 'explain', EDGE);
    expect(out).toContain('compiles: Not proposed yet (gen task propose); a runner runs the checks');
    expect((await runGen(terminal, 'runner', 'revoke', runner_id)).out).toContain('is revoked');
    expect((await runGen(terminal, 'runner', 'list')).out).toMatch(/revoked/);
    await chmod(key, 0o644);
    if (process.platform === 'win32') return;
    expect((await runGen(terminal, 'runner', 'enrol', '--key', key)).err).toContain(
      'readable by other users',
    );
  });

  it('lays the candidate over the commit that `--ref` names, runs its checks, and the edge converges by this evidence', async () => {
    const { terminal, key, propose, submit, runOnce, client } = await openVerifiedProject();
    const repo = await createRepository();
    await runGen(terminal, 'runner', 'enrol', '--key', key);
    const wrong = await propose('not yet');
    expect((await runOnce('--repo', repo)).out).toContain('compiles fail');
    const explainEdge = async () => (await runGen(terminal, 'task', 'explain', EDGE, '--session', 's1')).out;
    expect(await explainEdge()).toContain('compiles: A runner ran the check: fail');
    expect(await explainEdge()).toContain(`propose them again: gen task propose ${EDGE}. If`);
    expect(await submit(wrong)).toMatchObject({ reason: 'NOT_CONVERGED', failing: [{ name: 'compiles' }] });
    const right = await propose('ready');
    expect((await runGen(terminal, 'runner', 'candidates')).out).toContain(EDGE);
    expect(await explainEdge()).toMatch(/compiles: Proposed as [0-9a-f]{12}; waiting for a runner/);
    expect((await runOnce('--repo', repo, '--ref', 'main')).out).toContain('compiles pass');
    expect(await explainEdge()).toMatch(/compiles: Passed by runner rnr_[0-9a-f]+\./);
    expect(await explainEdge()).toContain(`Submit now: gen task submit ${EDGE} --drafts`);
    expect(await explainEdge()).not.toContain('cannot be claimed');
    expect((await runOnce('--repo', repo)).out).toBe('');
    expect(git(repo, 'worktree', 'list').split('\n')).toHaveLength(1);
    const recorded = await client.events({ type: 'EVIDENCE_RECORDED' });
    const base = { kind: 'git', commit: git(repo, 'rev-parse', 'HEAD') };
    expect('events' in recorded && recorded.events.at(-1)?.payload).toMatchObject({
      record: { evidence: [{ statement: { base, checks: [{ name: 'compiles', exit_code: 0 }] } }] },
    });
    expect(await submit(right)).toMatchObject({ accepted: true });
  });

  it('does not pass a candidate whose manifest says that an existing file is new', async () => {
    const { terminal, key, propose, submit, runOnce } = await openVerifiedProject();
    const repo = await createRepository();
    await runGen(terminal, 'runner', 'enrol', '--key', key);
    const manifest = await propose('ready', []);
    expect((await runOnce('--root', repo)).out).toContain('compiles error');
    const reply = await submit(manifest);
    expect(reply).toMatchObject({ reason: 'NOT_CONVERGED' });
    expect(JSON.stringify(reply)).toContain(`is ${sha256Of('before src/cart.txt').slice(0, 12)}`);
  });

  it('runs the checks again when a base that was behind has caught up', async () => {
    const { terminal, key, propose, submit, runOnce } = await openVerifiedProject();
    const repo = await createRepository();
    await runGen(terminal, 'runner', 'enrol', '--key', key);
    await writeFile(join(repo, 'src/cart.txt'), 'older');
    git(repo, 'commit', '--quiet', '-a', '-m', 'behind');
    const manifest = await propose('ready');
    expect((await runOnce('--repo', repo)).out).toContain('compiles error');
    git(repo, 'revert', '--no-edit', 'HEAD');
    expect((await runOnce('--repo', repo)).out).toContain('compiles pass');
    expect(await submit(manifest)).toMatchObject({ accepted: true });
  });

  it('records nothing without an enrolled key, and refuses a base that does not exist', async () => {
    const { terminal, key, client, propose, runOnce } = await openVerifiedProject();
    const repo = await createRepository();
    await propose('ready');
    const withoutKey = await runOnce('--root', repo);
    expect([withoutKey.code, withoutKey.err]).toEqual([1, expect.stringContaining('gen runner enrol --key')]);
    await runGen(terminal, 'runner', 'enrol', '--key', key);
    const { runners } = (await client.runners()) as { runners: readonly { runner_id: string }[] };
    await runGen(terminal, 'runner', 'revoke', runners[0]?.runner_id ?? '');
    const refused = await runOnce('--root', repo);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('RUNNER_REVOKED')]);
    expect((await runOnce()).err).toContain('--repo PATH or --root DIR');
    for (const base of [
      ['--root', join(repo, 'none')],
      ['--repo', join(repo, 'none')],
      ['--repo', repo, '--ref', 'none'],
    ])
      expect(await runOnce(...base)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/is not a (folder|git)/),
      });
  });

  it('takes drafts from their proposal to their promotion, without a server', async () => {
    const edge = 'intent_requirements';
    const subject = `${FEATURE_ID}#${edge}`;
    const terminal = await createProject({
      [`.ai-workspace/graph/edges/${edge}.yml`]: `edge: "intent→requirements"
checklist:
  - {name: has_login, type: deterministic, criterion: "It works", required: true, command: "grep -rq login docs"}
  - {name: no_gaps, type: deterministic, criterion: "It has tags", required: false, command: "gen gaps --layer 1"}
`,
      '.ai-workspace/profiles/minimal.yml': `profile: minimal
graph: {include: ["intent→requirements"]}
evaluators: {default: [agent, deterministic]}
`,
      '.ai-workspace/context/project_constraints.yml': 'project: {default_profile: minimal}\n',
    });
    const run = (...argv: string[]) =>
      runGen({ ...terminal, env: { ...terminal.env, PATH: process.env.PATH ?? '' } }, ...argv);
    await run('policy', 'evidence=verified');
    await run('runner', 'enrol');
    const claimed = await run('task', 'claim', subject, '--role', 'architect');
    expect(claimed.out).toMatch(
      /When done: gen task propose .*\nWhen a runner has recorded that the checks passed .*: gen task submit /,
    );
    const draftFolder = /Write to +(\S+)/.exec(claimed.out)?.[1] ?? '';
    await writeProjectFile(terminal.cwd, `${draftFolder}/docs/login.md`, 'login\n');
    const falseReport = await run('task', 'submit', subject, '--drafts', '--check', 'has_login=pass');
    expect([falseReport.code, falseReport.err]).toEqual([1, expect.stringContaining('gen task propose')]);
    expect(await run('task', 'propose', subject)).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 file proposed'),
    });
    const attested = await run('runner', 'run', '--root', '.', '--once', '--unsandboxed');
    expect(attested.out).toContain('has_login pass');
    expect(attested.out).toContain('no_gaps fail');
    expect(await run('task', 'submit', subject, '--drafts')).toMatchObject({
      code: 0,
      out: expect.stringContaining('has converged'),
    });
  });
});
