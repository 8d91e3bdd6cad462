import { createHash } from 'node:crypto';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { git } from '../../test/support/git.js';
import { runGen, startCommand, type TerminalOptions } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const EDGE = 'intent_requirements';
const SUBJECT = `${FEATURE_ID}#${EDGE}`;
const CHECKS = `edge: "intent→requirements"
checklist:
  - {name: reads_well, type: agent, criterion: "A stranger can read it", required: true}
  - {name: has_keys, type: agent, criterion: "Every line has its key", required: true}
`;
const PASSED = ['--check', 'reads_well=pass', '--check', 'has_keys=pass'];
const FEATURE_FILE = `feature: ${FEATURE_ID}
title: People log in
intent: INT-001
vector_type: feature
profile: minimal
`;
const FEATURE_WITH_HUMAN_CHECK = `${FEATURE_FILE}constraints:
  acceptance_criteria:
    - {id: product_owner_agrees, evaluator: human, description: "The owner has read it", required: true}
`;

const WITH_CHECKS = { [`.ai-workspace/graph/edges/${EDGE}.yml`]: CHECKS };
const WITH_HUMAN_CHECK = {
  ...WITH_CHECKS,
  [`.ai-workspace/features/active/${FEATURE_ID}.yml`]: FEATURE_WITH_HUMAN_CHECK,
};
const SINGLE_AGENT_SETTINGS = 'project:\n  name: shop\n  project_id: shop\ncoordination: {mode: single}\n';

const runForJson = async (terminal: TerminalOptions, ...argv: string[]) => {
  const { out, code, err } = await runGen(terminal, ...argv, '--json');
  return { code, err, reply: JSON.parse(out) as Record<string, unknown> };
};

const claim = (terminal: TerminalOptions, ...more: string[]) =>
  runGen(terminal, 'task', 'claim', SUBJECT, '--role', 'architect', ...more);

/** Claims the edge, and writes a draft to the folder in the reply. */
async function claimAndWriteDraft(terminal: TerminalOptions): Promise<string> {
  const { reply } = await runForJson(terminal, 'task', 'claim', SUBJECT, '--role', 'architect');
  await writeProjectFile(terminal.cwd, `${reply.draft_folder}/docs/login.md`, 'People log in.\n');
  return String(reply.draft_folder);
}

const readSharedFile = ({ cwd }: TerminalOptions) =>
  readFile(join(cwd, 'docs/login.md'), 'utf8').catch(() => null);

const submit = (terminal: TerminalOptions, ...more: string[]) =>
  runGen(terminal, 'task', 'submit', SUBJECT, ...more);

const readEdgeStatus = async (terminal: TerminalOptions) => {
  const { reply } = await runForJson(terminal, 'status', '--feature', FEATURE_ID);
  return (reply.trajectory as { edge: string; status: string }[]).find(({ edge }) => edge === EDGE)?.status;
};

// req: WSP-002, WSP-009
it('takes an edge from its claim through its checks to the promotion of its drafts', async () => {
  const terminal = await createProject(WITH_CHECKS);
  const { out, code } = await claim(terminal);
  expect(code).toBe(0);
  expect(out).toContain('reads_well (agent)');
  expect(out).toContain(`gen task submit ${SUBJECT} --drafts`);
  const work = /Write to +(\S+)/.exec(out)?.[1] ?? '';
  expect(work).toMatch(/^\.ai-workspace\/agents\/agent-a\/drafts\//);
  await writeProjectFile(terminal.cwd, `${work}/docs/login.md`, 'People log in.\n');
  const done = await submit(
    terminal,
    '--drafts',
    ...PASSED,
    '--iteration',
    '2',
    '--context-hash',
    'sha256:abc',
  );
  expect(done.err).toBe('');
  expect(done.code).toBe(0);
  expect(done.out).toContain('has converged');
  expect(done.out).toContain('docs/login.md');
  expect(await readSharedFile(terminal)).toBe('People log in.\n');
  expect(await readEdgeStatus(terminal)).toBe('converged');
  const { reply } = await runForJson(terminal, 'events', '--type', 'edge_converged');
  expect(reply).toMatchObject({
    events: [
      {
        payload: { iteration: 2, context_hash: 'sha256:abc', evaluators: { passed: 2, failed: 0, total: 2 } },
      },
    ],
  });
});

it('lists each check that has not passed, and keeps the claim', async () => {
  const terminal = await createProject(WITH_CHECKS);
  await claimAndWriteDraft(terminal);
  const refused = await submit(terminal, '--drafts', '--check', 'reads_well=error');
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('NOT_CONVERGED');
  expect(refused.err).toMatch(/reads_well: It did not run to completion/);
  expect(refused.err).toMatch(/has_keys: It was not reported/);
  expect(await readSharedFile(terminal)).toBeNull();
  await writeProjectFile(
    terminal.cwd,
    'checks.json',
    '[{"name": "reads_well", "type": "agent", "result": "pass"}]',
  );
  const passed = await submit(
    terminal,
    '--drafts',
    '--evaluators',
    'checks.json',
    '--check',
    'has_keys=pass',
  );
  expect(passed.code).toBe(0);
});

it('a submission counts the details of an evaluators file, and names the file if it is not valid', async () => {
  const terminal = await createProject(WITH_CHECKS);
  await claim(terminal);
  for (const text of ['nothing', '"text"', 'null', '{"passed": 2}']) {
    await writeFile(join(terminal.cwd, 'checks.json'), text);
    const refused = await submit(terminal, '--data', '1', '--evaluators', 'checks.json');
    expect(refused.code, text).toBe(2);
    expect(refused.err, text).toContain('checks.json contains no check results');
  }
  expect((await submit(terminal, '--data', '1', '--evaluators', 'none.json')).err).toContain('ENOENT');
  const wrong = [{ name: 'reads_well', result: 'fine' }, null];
  await writeFile(join(terminal.cwd, 'checks.json'), JSON.stringify(wrong));
  expect((await submit(terminal, '--data', '1', '--evaluators', 'checks.json')).err).toContain(
    'INVALID_REQUEST',
  );
  const details = ['reads_well', 'has_keys'].map((name) => ({ name, result: 'pass' }));
  await writeFile(join(terminal.cwd, 'checks.json'), JSON.stringify({ passed: 99, details }));
  expect((await submit(terminal, '--data', '1', '--evaluators', 'checks.json')).code).toBe(0);
  const { reply } = await runForJson(terminal, 'events', '--type', 'edge_converged');
  expect(reply).toMatchObject({ events: [{ payload: { evaluators: { passed: 2, total: 2 } } }] });
});

it('exits with 2 on invalid options, and submits nothing', async () => {
  const terminal = await createProject(WITH_CHECKS);
  await claim(terminal);
  for (const wrong of ['reads_well', '=pass', 'reads_well=good', 'reads_well='])
    expect((await submit(terminal, '--data', '1', '--check', wrong)).code, wrong).toBe(2);
  expect((await submit(terminal, '--drafts', '--data', '1')).code).toBe(2);
  expect((await submit(terminal, '--data', '1', '--iteration', 'two')).code).toBe(2);
  expect((await runForJson(terminal, 'events', '--type', 'edge_converged')).reply).toMatchObject({
    events: [],
  });
});

it('refuses missing drafts and drafts with symbolic links', async () => {
  const terminal = await createProject(WITH_CHECKS);
  const { reply } = await runForJson(terminal, 'task', 'claim', SUBJECT, '--role', 'architect');
  const empty = await submit(terminal, '--drafts', ...PASSED);
  expect(empty.code).toBe(1);
  expect(empty.err).toContain('NO_DRAFTS');
  expect(empty.err).toContain('Nothing was submitted');
  await symlink('/etc/hostname', join(terminal.cwd, String(reply.draft_folder), 'stolen'));
  expect((await submit(terminal, '--drafts', ...PASSED)).err).toContain('SYMLINK');
});

it('keeps a file that a person has changed meanwhile, and reports it', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  await claimAndWriteDraft(terminal);
  expect((await submit(terminal, '--drafts', ...PASSED)).code).toBe(3);
  await writeProjectFile(terminal.cwd, 'docs/login.md', 'Mine.\n');
  const approved = await runGen(terminal, 'review', '--feature', FEATURE_ID, '--approve');
  expect(approved.code).toBe(0);
  expect(approved.err).toMatch(/docs\/login\.md: The file changed in the project/);
  expect(await readSharedFile(terminal)).toBe('Mine.\n');
});

it('removes a worktree only after its result is accepted', async () => {
  const terminal = await createProject({
    ...WITH_CHECKS,
    '.ai-workspace/coordination.yml': 'project: {name: shop, project_id: shop}\nisolation: worktree\n',
    '.gitignore': '.ai-workspace/\n.home/\n',
  });
  git(terminal.cwd, 'init', '-q');
  git(terminal.cwd, 'add', '.');
  git(terminal.cwd, 'commit', '-qm', 'first');
  const work = await claimAndWriteDraft(terminal);
  expect(work).toContain('/worktrees/');
  expect((await submit(terminal, '--drafts')).code).toBe(1);
  expect((await stat(join(terminal.cwd, work))).isDirectory()).toBe(true);
  expect((await submit(terminal, '--drafts', ...PASSED)).code).toBe(0);
  await expect(stat(join(terminal.cwd, work))).rejects.toThrow('ENOENT');
  expect(await readSharedFile(terminal)).toBe('People log in.\n');
});

it('accepts every spelling of an edge’s name', async () => {
  const terminal = await createProject(WITH_CHECKS);
  const spelled = `${FEATURE_ID}#Intent → Requirements`;
  expect((await runGen(terminal, 'task', 'claim', spelled, '--role', 'architect')).code).toBe(0);
  expect((await runGen(terminal, 'task', 'renew', spelled)).code).toBe(0);
  expect((await runGen(terminal, 'task', 'submit', spelled, '--data', '1', ...PASSED)).code).toBe(0);
});

// req: HUM-003, WSP-003
it('converges the edge and promotes its drafts after a person approves', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  await claimAndWriteDraft(terminal);
  const waiting = await submit(terminal, '--drafts', ...PASSED);
  expect(waiting.code).toBe(3);
  expect(waiting.err).toContain(`gen review --feature ${FEATURE_ID} --edge ${EDGE}`);
  expect(await readSharedFile(terminal)).toBeNull();
  expect((await runGen(terminal, 'review')).out).toContain(EDGE);
  const { out: narrow } = await runGen({ ...terminal, columns: 80 }, 'review');
  expect(narrow).toMatch(new RegExp(`^Work .*\\n${FEATURE_ID} on ${EDGE} `));
  expect(Math.max(...narrow.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  const approved = await runGen(terminal, 'review', '--feature', FEATURE_ID, '--edge', EDGE, '--approve');
  expect(approved.code).toBe(0);
  expect(approved.out).toContain('has converged');
  expect(await readEdgeStatus(terminal)).toBe('converged');
  expect(await readSharedFile(terminal)).toBe('People log in.\n');
  expect((await submit(terminal, '--drafts', ...PASSED)).code).toBe(0);
});

it('promotes nothing after a person rejects, and refuses claims until unhold', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  await claimAndWriteDraft(terminal);
  await submit(terminal, '--drafts', ...PASSED);
  const rejected = await runGen(
    terminal,
    'review',
    '--feature',
    FEATURE_ID,
    '--reject',
    '--comment',
    'not this way',
  );
  expect(rejected.out).toContain(`gen task unhold ${SUBJECT}`);
  expect(await readSharedFile(terminal)).toBeNull();
  expect((await submit(terminal, '--drafts', ...PASSED)).code).toBe(1);
  const refused = await claim(terminal);
  expect(refused.code).toBe(3);
  expect(refused.err).toContain('not this way');
  expect((await runGen(terminal, 'task', 'unhold', SUBJECT, '--reason', 'try again')).code).toBe(0);
  expect((await claim(terminal)).code).toBe(0);
});

it('continues the same claim after a change request, and reviews the new candidate', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  const work = await claimAndWriteDraft(terminal);
  await submit(terminal, '--drafts', ...PASSED);
  const refined = await runGen(
    terminal,
    'review',
    '--feature',
    FEATURE_ID,
    '--refine',
    '--comment',
    'say who',
  );
  expect(refined.code).toBe(0);
  expect(await readSharedFile(terminal)).toBeNull();
  const { reply } = await runForJson(terminal, 'task', 'show', SUBJECT);
  expect(reply).toMatchObject({ generation: 1, claim: { state: 'ACTIVE' } });
  await writeProjectFile(terminal.cwd, `${work}/docs/login.md`, 'Customers log in.\n');
  expect((await submit(terminal, '--drafts', ...PASSED, '--iteration', '2')).code).toBe(3);
  expect((await runGen(terminal, 'review', '--feature', FEATURE_ID, '--approve')).code).toBe(0);
  expect(await readSharedFile(terminal)).toBe('Customers log in.\n');
});

it('rejects or escalates a result outside the role’s authority, as the project configures', async () => {
  const rolesFile = (action: string) => `roles:
  writer: {description: Writes, converge_edges: [design_code]}
authority: {outside_authority_action: ${action}}
`;
  const rejecting = await createProject({
    ...WITH_CHECKS,
    '.ai-workspace/agent_roles.yml': rolesFile('reject'),
  });
  await runGen(rejecting, 'task', 'claim', SUBJECT, '--role', 'writer');
  const refused = await submit(rejecting, '--data', '1', ...PASSED);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('OUTSIDE_AUTHORITY');
  expect(refused.err).toContain(`gen task release ${SUBJECT}`);
  expect(refused.err).toContain(`gen task claim ${SUBJECT} --role`);
  const escalating = await createProject({
    ...WITH_CHECKS,
    '.ai-workspace/agent_roles.yml': rolesFile('escalate'),
  });
  await runGen(escalating, 'task', 'claim', SUBJECT, '--role', 'writer');
  expect((await submit(escalating, '--data', '1', ...PASSED)).code).toBe(3);
});

// req: SGL-001, SGL-002, SGL-005
it('single-agent mode needs no agent name, lease or inbox, and refuses a second agent', async () => {
  const { cwd, env } = await createProject({
    ...WITH_CHECKS,
    '.ai-workspace/coordination.yml': SINGLE_AGENT_SETTINGS,
  });
  const alone = { cwd, env: { GENESIS_HOME: env?.GENESIS_HOME ?? '' } };
  const second = await runGen(alone, 'task', 'claim', SUBJECT, '--agent', 'other');
  expect(second.code).toBe(1);
  expect(second.err).toContain('DENIED_SINGLE_AGENT');
  expect(second.err).toContain('coordination.mode: multi');
  const granted = await runGen(alone, 'task', 'claim', SUBJECT);
  expect(granted.out).toContain('without a lease');
  const { reply } = await runForJson(alone, 'events', '--type', 'edge_started');
  expect(reply).toMatchObject({ events: [{ agent_id: 'primary', agent_role: 'full_stack' }] });
  expect((await runGen(alone, 'serialise')).err).toContain('coordination.mode is single');
  // A sole agent has the same session at another terminal.
  const elsewhere = { ...alone, env: { ...alone.env, TMUX_PANE: '%7' } };
  const work = /Write to +(\S+)/.exec(granted.out)?.[1] ?? '';
  expect(work).toContain('/agents/primary/');
  await writeProjectFile(cwd, `${work}/docs/login.md`, 'People log in.\n');
  expect((await submit(elsewhere, '--drafts', '--check', 'reads_well=pass')).err).toContain('NOT_CONVERGED');
  expect((await submit(elsewhere, '--drafts', ...PASSED)).code).toBe(0);
  expect(await readSharedFile(alone)).toBe('People log in.\n');
  expect(await readEdgeStatus(alone)).toBe('converged');
});

it('takes an edge from claim to convergence through a server on the workspace', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  const up = startCommand(terminal, 'up', '--port', '0');
  const url = /http:\/\/[\d.:]+/.exec(await up.waitForOutput(/http:\/\/\S+/))?.[0] ?? '';
  const there = { ...terminal, env: { ...terminal.env, GENESIS_URL: url } };
  await claimAndWriteDraft(there);
  expect((await submit(there, '--drafts', '--check', 'reads_well=pass')).err).toContain('has_keys');
  expect((await submit(there, '--drafts', ...PASSED)).code).toBe(3);
  expect((await runGen(there, 'review', '--feature', FEATURE_ID, '--approve')).code).toBe(0);
  expect(await readEdgeStatus(there)).toBe('converged');
  await expect.poll(() => readSharedFile(terminal), { timeout: 600_000 }).toBe('People log in.\n');
  up.stop('SIGTERM');
  expect((await up.ended).code).toBe(0);
});

it('promotes accepted files and follows the configuration while a long command holds the log', async () => {
  const terminal = await createProject(WITH_CHECKS);
  const following = startCommand(terminal, 'events', '--follow', '--json');
  const address = join(terminal.cwd, '.ai-workspace/events/server.json');
  await expect.poll(() => stat(address).catch(() => null), { timeout: 600_000 }).not.toBeNull();
  await claimAndWriteDraft(terminal);
  await following.waitForOutput(/edge_started/);
  expect((await submit(terminal, '--drafts', ...PASSED)).code).toBe(0);
  await expect.poll(() => readSharedFile(terminal), { timeout: 600_000 }).toBe('People log in.\n');
  const added = 'REQ-F-PAY-001';
  const explainTask = () => runGen(terminal, 'task', 'explain', `${added}#${EDGE}`);
  expect((await explainTask()).code).toBe(1);
  const feature = FEATURE_FILE.replaceAll(FEATURE_ID, added);
  await writeProjectFile(terminal.cwd, `.ai-workspace/features/active/${added}.yml`, feature);
  await following.waitForOutput(new RegExp(added));
  expect((await explainTask()).code).toBe(0);
  // gen init hands the files to the process that holds the log.
  await writeProjectFile(terminal.cwd, `.ai-workspace/features/active/${added}.yml`, 'feature: [');
  const faulty = await runGen(terminal, 'init');
  expect(faulty).toMatchObject({ code: 0, err: expect.stringMatching(/REQ-F-PAY-001\.yml:\d+:\d+/) });
  following.stop('SIGTERM');
  await following.ended;
});

it('shows the reviewer every file, its draft, the reason and the checks', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  const work = await claimAndWriteDraft(terminal);
  await writeProjectFile(terminal.cwd, `${work}/specification/login.md`, 'They do.\n');
  expect((await submit(terminal, '--drafts', ...PASSED)).code).toBe(3);
  const { out } = await runGen({ ...terminal, columns: 300 }, 'review', '--feature', FEATURE_ID);
  const digest = createHash('sha256').update('People log in.\n').digest('hex');
  expect(out).toMatch(/docs\/login\.md +15 bytes/);
  expect(out).toContain(`sha256 ${digest}`);
  expect(out).toContain(`    ${work}/docs/login.md\n`);
  expect(out).toContain(`    ${work}/specification/login.md\n`);
  expect(out).toContain('the result changes the specification (spec_mutation)');
  expect(out).toContain('product_owner_agrees: The owner has read it');
  expect(out).not.toContain('changed since');
  expect(stripVTControlCharacters(out)).toContain(
    '--- /dev/null\n+++ b/docs/login.md\n@@ -0,0 +1 @@\n+People log in.\n',
  );
  await writeProjectFile(terminal.cwd, 'docs/login.md', 'Nobody logs in.\n');
  await writeProjectFile(terminal.cwd, 'specification/login.md', 'They do.\n');
  const again = await runGen({ ...terminal, columns: 300 }, 'review', '--feature', FEATURE_ID);
  expect(stripVTControlCharacters(again.out)).toContain('--- a/docs/login.md\n+++ b/docs/login.md\n');
  expect(stripVTControlCharacters(again.out)).toContain('-Nobody logs in.\n+People log in.\n');
  expect(again.out).toContain('specification/login.md: equal to the file in the project');
  await writeProjectFile(terminal.cwd, `${work}/docs/login.md`, 'Nobody gets in\n');
  expect((await runGen(terminal, 'review', '--feature', FEATURE_ID)).out).toContain(
    'The draft has changed since',
  );
});

it('shows a reviewer’s comment in start, task show and task history', async () => {
  const terminal = { ...(await createProject(WITH_HUMAN_CHECK)), columns: 300 };
  await claimAndWriteDraft(terminal);
  await submit(terminal, '--drafts', ...PASSED);
  await runGen(terminal, 'review', '--feature', FEATURE_ID, '--refine', '--comment', 'say who');
  const reply = await runGen(terminal, 'start');
  expect(reply.out).toContain('tester requested changes: say who');
  expect(reply.out).toContain(`gen task submit ${SUBJECT} --drafts`);
  expect((await runGen(terminal, 'task', 'show', SUBJECT)).out).toMatch(
    /CHANGES_REQUESTED by tester .*: say who/,
  );
  expect((await runGen(terminal, 'task', 'history', SUBJECT)).out).toMatch(
    /CHANGES_REQUESTED by tester .*: say who/,
  );
});

it('shows a released claim without an expiry, and with its error', async () => {
  const terminal = { ...(await createProject(WITH_CHECKS)), columns: 300 };
  await claim(terminal);
  expect((await runGen(terminal, 'task', 'show', SUBJECT)).out).toContain(', until ');
  await runGen(terminal, 'task', 'release', SUBJECT, '--error', 'the compiler is gone');
  const { out } = await runGen(terminal, 'task', 'show', SUBJECT);
  expect(out).toContain('RELEASED by agent-a');
  expect(out).not.toContain('until');
  expect(out).toContain('the compiler is gone');
  expect((await runGen(terminal, 'task', 'history', SUBJECT)).out).toContain('the compiler is gone');
});

it('shows the title of the feature and the paths to write to when an edge is claimed', async () => {
  const { out } = await claim({ ...(await createProject(WITH_CHECKS)), columns: 300 });
  expect(out).toContain('  People log in\n');
  expect(out).toContain('Write each file under its path in the project');
});

it('suggests the closest check for an unknown one, and submits nothing', async () => {
  const terminal = await createProject(WITH_CHECKS);
  await claimAndWriteDraft(terminal);
  const slip = await submit(terminal, '--drafts', '--check', 'reads_wel=pass', '--check', 'has_keys=pass');
  expect(slip.code).toBe(2);
  expect(slip.err).toContain(`${SUBJECT} has no check reads_wel. Did you mean reads_well?`);
  expect(slip.err).toContain('Its checks: reads_well, has_keys.');
  const { err } = await submit(terminal, '--drafts', '--check', 'has_keys=pass');
  expect(err).not.toContain('under failing');
});

it('wraps a refusal on a terminal, and prints it on one line otherwise', async () => {
  const terminal = { ...(await createProject(WITH_CHECKS)), columns: 60 };
  await claim(terminal);
  const widestLine = (text: string) => Math.max(...text.split('\n').map((line) => line.length));
  const watched = { ...terminal, isStderrTty: true };
  expect(widestLine((await claim(watched)).err)).toBeLessThanOrEqual(60);
  expect(widestLine((await runGen(watched, 'task', 'renew', 'A-001-schema')).err)).toBeLessThanOrEqual(60);
  expect((await claim(terminal)).err.trim()).not.toContain('\n');
});
