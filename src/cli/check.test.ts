import { randomInt } from 'node:crypto';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProgram, findSandbox } from '../engine/checks/sandbox.js';
import { isRunning } from '../engine/checks/testing/running-processes.js';
import { runGen, startCommand, type TerminalOptions } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const EDGE = 'intent_requirements';
const SUBJECT = `${FEATURE_ID}#${EDGE}`;
const EDGE_FILE = `.ai-workspace/graph/edges/${EDGE}.yml`;
const sandbox = await findSandbox(process.env.PATH);
const skippedSuffix = sandbox.kind === 'none' ? ` (skipped: ${sandbox.says})` : '';

const edgeFile = (...checks: string[]) =>
  `edge: "intent→requirements"\nchecklist:\n${checks.map((check) => `  - {${check}}\n`).join('')}`;
const check = (name: string, fields: string) =>
  `name: ${name}, type: deterministic, criterion: "It works", required: true, ${fields}`;
const HAS_DOCS = check('has_docs', 'command: "test -f docs/login.md"');

/** The default profile of the feature runs no deterministic checks. */
const PROFILE = `profile: minimal
graph: {include: ["intent→requirements"]}
evaluators: {default: [agent, deterministic]}
`;

async function projectWith(...checks: string[]): Promise<TerminalOptions & { cwd: string }> {
  const terminal = await createProject({
    [EDGE_FILE]: edgeFile(...checks),
    '.ai-workspace/profiles/minimal.yml': PROFILE,
  });
  return { ...terminal, env: { ...terminal.env, PATH: process.env.PATH ?? '' } };
}

const runForJson = async (terminal: TerminalOptions, ...argv: string[]) => {
  const { out, code, err } = await runGen(terminal, 'check', SUBJECT, ...argv, '--json');
  return {
    code,
    err,
    reply: JSON.parse(out) as { code?: string; checks: Record<string, unknown>[]; drafts: string[] },
  };
};

it('gen check, gen iterate --dry-run and gen init name the human checks that the profile leaves out', async () => {
  const terminal = await projectWith(
    check('fine', 'command: "true"'),
    'name: looks_good, type: human, criterion: "It looks good", required: true',
  );
  const sentence = /The profile minimal leaves out human checks: looks_good/;
  const commands = [
    ['check', SUBJECT, '--yes', '--unsandboxed'],
    ['iterate', SUBJECT, '--dry-run'],
    ['init'],
  ];
  for (const argv of commands) {
    const { code, err } = await runGen(terminal, ...argv);
    expect([argv[0], code, err.replace(/\s+/g, ' ')]).toEqual([argv[0], 0, expect.stringMatching(sentence)]);
  }
  await writeProjectFile(
    terminal.cwd,
    '.ai-workspace/profiles/minimal.yml',
    PROFILE.replace('deterministic]', 'deterministic, human]'),
  );
  for (const argv of commands.toReversed())
    expect((await runGen(terminal, ...argv)).err).not.toContain('leaves out human checks');
}, 60_000);

describe.skipIf(sandbox.kind === 'none')(`gen check${skippedSuffix}`, { timeout: 120_000 }, () => {
  it('asks before it runs a command of the repository, and remembers the answer', async () => {
    const terminal = await projectWith(check('fine', 'command: "test -f specification/INTENT.md"'));
    const refused = await runGen(terminal, 'check', SUBJECT);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain('fine: test -f specification/INTENT.md');
    expect(refused.err).toContain(`gen check ${SUBJECT} --yes`);
    const declined = await runGen({ ...terminal, isStdinTty: true, stdin: '\n' }, 'check', SUBJECT);
    expect(declined.code).toBe(3);
    expect(declined.err).toContain('Run 1 command of this repository? [y/N]:');
    const agreed = await runGen({ ...terminal, isStdinTty: true, stdin: 'y\n' }, 'check', SUBJECT);
    expect(agreed.out).toMatch(/fine +pass/);
    expect(agreed.code).toBe(0);
    expect(await runGen(terminal, 'check', SUBJECT)).toMatchObject({ code: 0, err: '' });
  });

  it('asks again when a command has changed', async () => {
    const terminal = await projectWith(check('fine', 'command: "true"'));
    expect((await runGen(terminal, 'check', SUBJECT, '--yes')).code).toBe(0);
    await writeProjectFile(terminal.cwd, EDGE_FILE, edgeFile(check('fine', 'command: "true", shell: true')));
    const { code, reply } = await runForJson(terminal);
    expect([code, reply.code]).toEqual([3, 'COMMAND_NOT_CONFIRMED']);
  });

  it('runs the checks on the drafts of the claim, and leaves the project as it is', async () => {
    const terminal = await projectWith(HAS_DOCS, check('writes', 'command: "touch docs/new.md"'));
    expect((await runForJson(terminal, '--yes')).reply.checks).toMatchObject([
      { result: 'fail' },
      { result: 'fail' },
    ]);
    const claimed = await runGen(terminal, 'task', 'claim', SUBJECT, '--role', 'architect', '--json');
    const { draft_folder } = JSON.parse(claimed.out) as { draft_folder: string };
    expect((await runForJson(terminal)).reply.drafts).toEqual([]);
    await writeProjectFile(terminal.cwd, `${draft_folder}/docs/login.md`, 'People log in.\n');
    const { code, reply } = await runForJson(terminal);
    expect(reply).toMatchObject({ drafts: ['docs/login.md'], is_sandboxed: true });
    expect(reply.checks).toMatchObject([{ result: 'pass' }, { result: 'pass' }]);
    expect(code).toBe(0);
    expect(await readdir(terminal.cwd)).not.toContain('docs');
  });

  it('runs before gen task submit: a false check report does not converge the edge, and unconfirmed commands are named', async () => {
    const terminal = await projectWith(HAS_DOCS);
    const claimed = await runGen(terminal, 'task', 'claim', SUBJECT, '--role', 'architect', '--json');
    const { draft_folder } = JSON.parse(claimed.out) as { draft_folder: string };
    await writeProjectFile(terminal.cwd, `${draft_folder}/docs/other.md`, 'People log in.\n');
    await runGen(terminal, 'check', SUBJECT, '--yes');
    const submit = () => runGen(terminal, 'task', 'submit', SUBJECT, '--drafts', '--check', 'has_docs=pass');
    const falseReport = await submit();
    expect(falseReport.err).toContain('Check has_docs: fail.');
    expect(falseReport.err).toContain('NOT_CONVERGED');
    await writeProjectFile(terminal.cwd, EDGE_FILE, edgeFile(check('has_docs', 'command: "test -d docs"')));
    expect((await submit()).err).toContain(
      `Not run: has_docs; their commands are not confirmed. Confirm them with: gen check ${SUBJECT}`,
    );
  });

  it('runs before gen task submit of a file too, if there are drafts; otherwise names what was not run', async () => {
    const terminal = await projectWith(HAS_DOCS);
    await runGen(terminal, 'check', SUBJECT, '--yes');
    const claimed = await runGen(terminal, 'task', 'claim', SUBJECT, '--role', 'architect', '--json');
    const { draft_folder } = JSON.parse(claimed.out) as { draft_folder: string };
    const submit = () =>
      runGen(terminal, 'task', 'submit', SUBJECT, '--data', '1', '--check', 'has_docs=fail');
    expect((await submit()).err).toContain('Not run: has_docs; there are no drafts of this work here.');
    await writeProjectFile(terminal.cwd, `${draft_folder}/docs/login.md`, 'People log in.\n');
    const checked = await submit();
    expect(checked.err).toContain('Check has_docs: pass.');
    expect(checked.code).toBe(0);
  });

  it('shows the last lines of a failing check, and exits with 1', async () => {
    const failing = check('fails', 'command: "echo first; echo the reason >&2; exit 4", shell: true');
    const terminal = await projectWith(failing, HAS_DOCS, check('fine', 'command: "true"'));
    const { out, code } = await runGen(terminal, 'check', SUBJECT, '--yes');
    expect(code).toBe(1);
    expect(out).toContain('the project as it is');
    expect(out).toMatch(/fails +fail +[\d.]+ s +The command ended with exit code 4/);
    expect(out).toContain('    the reason');
    expect(await runGen(terminal, 'check', SUBJECT, 'fine')).toMatchObject({ code: 0 });
  });

  it('refuses a command that only a shell understands, and reads the result of a check from its report', async () => {
    const report = 'report: {format: junit, path: r.xml}';
    const line = `command: "echo '<testsuite/>' > r.xml", shell: true`;
    const terminal = await projectWith(
      check('installs', 'command: "curl -s https://x.example/i | sh"'),
      check('reports', `${line}, ${report}`),
      check('slow', 'command: "sleep 1000", timeout_seconds: 1'),
    );
    const { code, reply } = await runForJson(terminal, '--yes');
    expect(code).toBe(1);
    expect(reply.checks).toMatchObject([
      {
        name: 'installs',
        result: 'error',
        says: expect.stringContaining('shell: true'),
        command_sha256: null,
      },
      { name: 'reports', result: 'fail', says: expect.stringContaining('No test was run') },
      { name: 'slow', result: 'fail', says: expect.stringContaining('1 s') },
    ]);
  });

  it('ends its commands when it is stopped', async () => {
    const seconds = `1${randomInt(1e8, 1e9)}`;
    const terminal = await projectWith(check('sleeps', `command: "sleep ${seconds}"`));
    const running = startCommand(terminal, 'check', SUBJECT, '--yes');
    await expect.poll(() => isRunning(`sleep\0${seconds}`), { timeout: 60_000 }).toBe(true);
    running.stop('SIGINT');
    expect((await running.ended).code).toBe(130);
    expect(isRunning(seconds)).toBe(false);
  });
});

describe('gen check without bubblewrap', { timeout: 120_000 }, () => {
  it('refuses with exit code 3, unless it may run without a sandbox', async () => {
    const terminal = await projectWith(check('fine', 'command: "true"'));
    const bin = join(terminal.cwd, '.bin');
    await mkdir(bin);
    for (const name of ['sh', 'true', 'git', 'prlimit', 'setpriv'])
      await symlink(findProgram(name, process.env.PATH) ?? '/nonexistent', join(bin, name));
    const bare = { ...terminal, env: { ...terminal.env, PATH: bin } };
    const { code, reply } = await runForJson(bare, '--yes');
    expect([code, reply.code]).toEqual([3, 'NO_SANDBOX']);
    const allowed = await runForJson(bare, '--unsandboxed');
    expect(allowed.code).toBe(0);
    expect(allowed.reply).toMatchObject({ is_sandboxed: false, checks: [{ result: 'pass' }] });
    expect(allowed.err).toContain('without a sandbox');
  });

  it('does not run an unconfirmed command without a sandbox either', async () => {
    const terminal = await projectWith(check('fine', 'command: "true"'));
    expect(await runGen(terminal, 'check', SUBJECT, '--unsandboxed')).toMatchObject({ code: 3, out: '' });
  });

  it('runs gen gaps on the copy, though the sandbox has no gen', async () => {
    const terminal = await projectWith(check('tagged', 'command: "gen gaps --layer 1"'));
    const untagged = await runGen(terminal, 'check', SUBJECT, '--yes');
    expect(untagged).toMatchObject({ code: 1, out: expect.stringMatching(/tagged +fail/) });
    expect(untagged.out).toContain(FEATURE_ID);
    await writeProjectFile(terminal.cwd, 'login.js', `// Implements: ${FEATURE_ID}\n`);
    expect(await runGen(terminal, 'check', SUBJECT)).toMatchObject({ code: 0 });
  });

  it('names the checks of the edge when the given check is unknown', async () => {
    const terminal = await projectWith(HAS_DOCS);
    const unknown = await runGen(terminal, 'check', SUBJECT, 'has_doc');
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('It has: has_docs.') });
    expect((await runGen(terminal, 'check', 'A-001')).code).toBe(2);
    const unconfirmed = await runGen(terminal, 'check', SUBJECT, 'has_docs');
    expect(unconfirmed.err).toContain(`gen check ${SUBJECT} has_docs --yes`);
    const confirmed = await runGen(terminal, 'check', SUBJECT, 'has_docs', '--yes', '--unsandboxed');
    expect(confirmed.err).toMatch(/Confirmed in .*:\n {2}has_docs: test -f docs\/login.md/);
  });
});
