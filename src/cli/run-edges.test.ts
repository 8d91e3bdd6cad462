import { existsSync } from 'node:fs';
import { readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git } from '../../test/support/git.js';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import type { FleetReport } from './fleet/report.js';
import { runGen, startCommand, type TerminalOptions } from './testing/terminal.js';
import { createProject, FEATURE_ID } from './testing/workspace.js';

const FIRST = `${FEATURE_ID}#intent_requirements`;
const SECOND = `${FEATURE_ID}#design_code`;

const checklistFile = (edge: string): string => `edge: "${edge}"
checklist:
  - {name: reads_well, type: agent, criterion: "A stranger can read it", required: true}
`;
const WITH_CHECKS = {
  '.ai-workspace/graph/edges/intent_requirements.yml': checklistFile('intent→requirements'),
  '.ai-workspace/graph/edges/design_code.yml': checklistFile('design→code'),
  '.ai-workspace/context/project_constraints.yml': `constraint_dimensions:
  ecosystem_compatibility: node
  deployment_target: cloud
  security_model: keys
  build_system: npm
`,
};
const WITH_HUMAN_CHECK = {
  ...WITH_CHECKS,
  [`.ai-workspace/features/active/${FEATURE_ID}.yml`]: `feature: ${FEATURE_ID}
title: People log in
vector_type: feature
profile: minimal
constraints:
  acceptance_criteria:
    - {id: product_owner_agrees, evaluator: human, description: "The owner has read it", required: true}
`,
};

/** An agent program: writes a file named after the edge, and reports a pass for each check that is not a person's. */
const AGENT = `
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
const { GENESIS_BRIEFING, GENESIS_CHECKS, GENESIS_DRAFTS, GENESIS_TASK_ID } = process.env;
const { checks, review } = JSON.parse(readFileSync(GENESIS_BRIEFING, 'utf8'));
console.log('review: ' + (review?.comment ?? 'none') + ' worker: ' + process.ppid);
mkdirSync('docs', { recursive: true });
writeFileSync('docs/' + GENESIS_TASK_ID.split('#')[1] + '.md', 'Made in ' + process.cwd() + '\\n' + GENESIS_DRAFTS);
const reported = checks.filter(({ type }) => type !== 'human');
writeFileSync(GENESIS_CHECKS, JSON.stringify(reported.map(({ name }) => ({ name, result: 'pass' }))));
`;

async function agentProgram(): Promise<string[]> {
  const file = join(await temporaryFolder(), 'agent.mjs');
  await writeFile(file, AGENT);
  return ['--role', 'full_stack', '--', process.execPath, file];
}

const runShell = (terminal: TerminalOptions, script: string) =>
  runGen(terminal, 'run', '--role', 'full_stack', '--', 'sh', '-c', script);

it('run --loop works on the edges of a feature in their draft folders until all work is done', async () => {
  const terminal = await createProject(WITH_CHECKS);
  const looped = await runGen(terminal, 'run', '--loop', ...(await agentProgram()));
  expect(looped.err).toMatch(/^Working on shop until all work is done\.\n/);
  expect(looped.err).toContain(`${FIRST} has converged: `);
  expect(looped.err).toMatch(/2 accepted, .*\nAll work of shop is done\.\n$/);
  expect(looped.code).toBe(0);
  for (const edge of ['intent_requirements', 'design_code']) {
    const made = await readFile(join(terminal.cwd, 'docs', `${edge}.md`), 'utf8');
    const [, cwd = '', drafts = ''] = /^Made in (.*)\n(.*)$/.exec(made) ?? [];
    expect(cwd).toBe(await realpath(drafts));
    expect(drafts).toContain(join(terminal.cwd, '.ai-workspace', 'agents', 'agent-a', 'drafts'));
  }
  const single = await runGen(terminal, 'run', '--', 'true');
  expect(single).toMatchObject({ code: 0, err: 'All work of shop is done.\n' });
});

it('run --kind task claims no edges, and a project without a plan is not done', async () => {
  const terminal = await createProject(WITH_CHECKS);
  const idle = await runGen(terminal, 'run', '--kind', 'task', '--', 'true');
  expect(idle).toMatchObject({ code: 1, err: expect.stringContaining('NOTHING_READY') });
  expect((await runGen(terminal, 'run', '--kind', 'tasks', '--', 'true')).code).toBe(2);
});

it.each([
  [
    'checks that are not JSON',
    'echo fine > "$GENESIS_CHECKS"',
    /contains no valid check results\. Expected JSON/,
  ],
  [
    'a check result that does not exist',
    `echo '[{"name": "reads_well", "result": "good"}]' > "$GENESIS_CHECKS"`,
    /A result is pass, fail, skip, error, pending\./,
  ],
  ['a program that wrote no drafts', ':', /failed: NO_DRAFTS: /],
  [
    'a check that has not passed',
    `echo text > a.md; echo '{"details": [{"name": "reads_well", "result": "fail"}]}' > "$GENESIS_CHECKS"`,
    /the result was refused \(NOT_CONVERGED: reads_well: It failed/,
  ],
  ['no report of a check', 'echo text > a.md', /NOT_CONVERGED: reads_well: It was not reported/],
])('run releases an edge after %s, and says why', async (_, script, reason) => {
  const terminal = await createProject(WITH_CHECKS);
  const failed = await runShell(terminal, script);
  expect(failed.err).toMatch(reason);
  expect(failed.code).toBe(1);
  const { out } = await runGen(terminal, 'task', 'history', FIRST);
  expect(out).toContain('ERROR');
});

it('run submits the result file of an edge instead of its drafts', async () => {
  const terminal = await createProject(WITH_CHECKS);
  const script = `echo '{"made": 1}' > "$GENESIS_RESULT"; echo '[{"name": "reads_well", "result": "pass"}]' > "$GENESIS_CHECKS"`;
  expect(await runShell(terminal, script)).toMatchObject({ code: 0 });
  expect((await runGen(terminal, 'task', 'result', FIRST)).out).toContain('"made"');
});

it('run exits with 3 when a person must decide, and the result can be approved after the process has ended', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  const escalated = await runGen(terminal, 'run', ...(await agentProgram()));
  expect(escalated.err).toContain(`${FIRST} waits for a person: gen review`);
  expect(escalated.code).toBe(3);
  const review = ['review', '--feature', FEATURE_ID, '--edge', 'intent_requirements', '--approve'];
  expect((await runGen(terminal, ...review)).code).toBe(0);
  expect(existsSync(join(terminal.cwd, 'docs', 'intent_requirements.md'))).toBe(true);
});

const reviewArguments = (...decision: string[]): string[] => [
  ...['review', '--feature', FEATURE_ID, '--edge', 'intent_requirements'],
  ...decision,
];

it('gen run works on an edge again if changes were requested after the earlier run had ended', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  const program = await agentProgram();
  expect(await runGen(terminal, 'run', ...program)).toMatchObject({
    code: 3,
    out: expect.stringContaining('review: none'),
  });
  expect(await runGen(terminal, 'run', ...program)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^NOTHING_READY\. .*human/),
  });
  expect((await runGen(terminal, ...reviewArguments('--refine', '--comment', 'name the key'))).code).toBe(0);
  const again = await runGen(terminal, 'run', ...program);
  expect(again).toMatchObject({ code: 3, out: expect.stringContaining('review: name the key') });
  expect((await runGen(terminal, ...reviewArguments('--approve'))).code).toBe(0);
  expect((await runGen(terminal, 'task', 'show', FIRST)).out).toMatch(/completed.*, generation 1/);
});

it('gen fleet works on an edge again if the agent that escalated it was killed before changes were requested', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  const program = await agentProgram();
  const { cwd, env = {} } = terminal;
  const fleet = startCommand({ cwd, env }, 'fleet', '--name', 'worker', ...program);
  await fleet.waitForOutput(/the result of generation 1 waits for a person/);
  const log = join(terminal.cwd, '.home', 'fleet', 'worker-1.log');
  const [, worker] = /worker: (\d+)/.exec(await readFile(log, 'utf8')) ?? [];
  process.kill(Number(worker), 'SIGKILL');
  await fleet.waitForOutput(/worker-1 ended \(SIGKILL\)\. Restart 1/);
  expect((await runGen(terminal, ...reviewArguments('--refine', '--comment', 'name the key'))).code).toBe(0);
  await fleet.waitForOutput(/waits for a person: gen review[\s\S]*waits for a person: gen review/);
  expect(await readFile(log, 'utf8')).toContain('review: name the key');
  expect((await runGen(terminal, ...reviewArguments('--approve'))).code).toBe(0);
  await fleet.waitForOutput(`worker-1  ${SECOND}: claimed`);
  fleet.stop('SIGINT');
  expect((await fleet.ended).code).toBe(130);
});

it('run removes the worktree of an edge after its result is accepted, and the result has metadata.git', async () => {
  const terminal = await createProject({
    ...WITH_CHECKS,
    '.ai-workspace/coordination.yml': 'project: {name: shop, project_id: shop}\nisolation: worktree\n',
  });
  git(terminal.cwd, 'init', '--quiet', '--initial-branch', 'main');
  git(terminal.cwd, 'add', 'specification');
  git(terminal.cwd, 'commit', '--quiet', '-m', 'begin');
  const ran = await runGen(terminal, 'run', ...(await agentProgram()));
  expect(ran).toMatchObject({ code: 0, err: expect.stringContaining('has converged') });
  expect(await readFile(join(terminal.cwd, 'docs', 'intent_requirements.md'), 'utf8')).toContain(
    '/worktrees/',
  );
  expect(git(terminal.cwd, 'worktree', 'list').split('\n')).toHaveLength(1);
  const { out } = await runGen(terminal, 'task', 'result', FIRST, '--json');
  expect(JSON.parse(out)).toMatchObject({
    metadata: { git: { base: git(terminal.cwd, 'rev-parse', 'HEAD') } },
  });
});

it('fleet works on edges in the workspace, also from the worktrees of its agents', async () => {
  const terminal = await createProject(WITH_CHECKS);
  git(terminal.cwd, 'init', '--quiet', '--initial-branch', 'main');
  git(terminal.cwd, 'add', '--force', 'specification', '.ai-workspace');
  git(terminal.cwd, 'commit', '--quiet', '-m', 'begin');
  const fleet = await runGen(terminal, 'fleet', '--name', 'worker', '--json', ...(await agentProgram()));
  expect(fleet.err).toContain(`worker-1  ${SECOND}: done`);
  expect(fleet.code).toBe(0);
  const report = JSON.parse(fleet.out) as FleetReport;
  expect(report).toMatchObject({
    agents: [{ agent_id: 'worker-1', state: 'done', accepted: 2, restarts: 0 }],
    left: { task_total: 0, edge_total: 0, edges: [], reviews: [] },
  });
  // Drafts are in the workspace itself. The agent's worktree has only a copy of the workspace, as old as the last commit.
  const made = await readFile(join(terminal.cwd, 'docs', 'design_code.md'), 'utf8');
  expect(made).toContain(join(terminal.cwd, '.ai-workspace', 'agents', 'worker-1'));
});

it('fleet says that the remaining work waits for a person, and keeps the result for review', async () => {
  const terminal = await createProject(WITH_HUMAN_CHECK);
  const fleet = startCommand(
    { ...terminal, columns: 200 },
    'fleet',
    '--name',
    'worker',
    ...(await agentProgram()),
  );
  await fleet.waitForOutput(/the result of generation 1 waits for a person: gen review/);
  fleet.stop('SIGINT');
  const { code, out } = await fleet.ended;
  expect(code).toBe(130);
  expect(out).toMatch(/worker-1 +stopped +0 +1 +0 /);
  expect(out).toContain(
    `2 edges are left; next for each feature: ${FIRST}. All of it waits for a person: gen review.`,
  );
  expect((await runGen(terminal, 'review', '--list')).out).toContain('intent_requirements');
});
