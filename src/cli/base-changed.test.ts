import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Run } from '../core/engine/runs.js';
import { runGen, type TerminalOptions } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const EDGE = 'intent_requirements';
const SUBJECT = `${FEATURE_ID}#${EDGE}`;
const OTHER = `REQ-F-SHOP-002#${EDGE}`;

/** The constructor appends the name of its feature to up.js. The check fails for the first feature until `allowed/all` exists. */
const FILES = {
  'up.js': 'one\n',
  '.ai-workspace/profiles/minimal.yml': `profile: minimal
graph: {include: ["intent→requirements"]}
evaluators: {default: [agent, deterministic]}
`,
  '.ai-workspace/features/active/REQ-F-SHOP-002.yml':
    'feature: REQ-F-SHOP-002\ntitle: Another\nintent: INT-001\nvector_type: feature\nprofile: minimal\npriority: low\n',
  [`.ai-workspace/graph/edges/${EDGE}.yml`]: `edge: "intent→requirements"
checklist:
  - {name: allowed, type: deterministic, criterion: "It is allowed", required: true, shell: true, command: "test -e allowed/all || ! grep -q ${FEATURE_ID} up.js"}
construct:
  type: command
  command: [sh, -c, "test -e up.js || cp ../../../../../../up.js up.js; basename $(dirname $PWD) >> up.js"]
convergence: {max_iterations: 1}
`,
};

async function openProject() {
  const project = await createProject(FILES);
  const terminal: TerminalOptions & { cwd: string } = {
    ...project,
    env: { ...project.env, PATH: process.env.PATH ?? '' },
  };
  const run = (...argv: string[]) => runGen(terminal, ...argv);
  const iterate = (subject: string, ...argv: string[]) =>
    run('iterate', subject, '--unsandboxed', '--yes', '--role', 'full_stack', ...argv);
  const textOf = (path: string) => readFile(join(project.cwd, path), 'utf8');
  return { ...project, run, iterate, textOf };
}

describe('a draft whose file another feature has changed', { timeout: 120_000 }, () => {
  it('is refreshed when the edge is run again, and the earlier draft is kept', async () => {
    const { cwd, run, iterate, textOf } = await openProject();
    const failed = await iterate(SUBJECT, '--json');
    expect([failed.code, failed.err]).toEqual([3, expect.any(String)]);
    const { run_id } = JSON.parse(failed.out) as Run;
    const other = await iterate(OTHER);
    expect(other, other.out).toMatchObject({ code: 0 });
    expect(await textOf('up.js')).toBe('one\nREQ-F-SHOP-002+u\n');
    await writeProjectFile(cwd, 'allowed/all', '');
    expect((await run('task', 'force-release', SUBJECT, '--reason', 'again')).code).toBe(0);
    expect((await run('runs', 'retry', run_id, '--role', 'full_stack')).code).toBe(0);
    const retried = await iterate(SUBJECT, '--json');
    expect(retried, retried.out).toMatchObject({ code: 0 });
    expect(await textOf('up.js')).toBe(`one\nREQ-F-SHOP-002+u\n${FEATURE_ID}+u\n`);
    const agent = '.ai-workspace/agents/agent-a';
    const agentFiles = await readdir(join(cwd, agent), { recursive: true });
    const earlier = agentFiles.find((path) => path.startsWith('earlier') && path.endsWith('up.js'));
    expect(await textOf(join(agent, earlier ?? ''))).toBe(`one\n${FEATURE_ID}+u\n`);
  });

  it('is refreshed by the command that the refusal names, for an agent that works by hand', async () => {
    const { cwd, run, textOf } = await openProject();
    const claimed = await run('task', 'claim', SUBJECT, '--role', 'full_stack', '--json');
    const { draft_folder } = JSON.parse(claimed.out) as { draft_folder: string };
    await writeProjectFile(cwd, `${draft_folder}/up.js`, 'one\nmine\n');
    await writeProjectFile(cwd, `${draft_folder}/new.js`, 'new\n');
    const submit = () => run('task', 'submit', SUBJECT, '--drafts', '--check', 'allowed=pass');
    expect((await run('task', 'propose', SUBJECT)).code).toBe(0);
    await writeProjectFile(cwd, 'up.js', 'one\ntheirs\n');
    const refused = await submit();
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('BASE_CHANGED') });
    const command = `gen task refresh-drafts ${SUBJECT}`;
    expect(refused.err).toContain(command);
    const refreshed = await run('task', 'refresh-drafts', SUBJECT, '--json');
    const reply = JSON.parse(refreshed.out) as { refreshed: { path: string; earlier: string }[] };
    expect(reply.refreshed.map(({ path }) => path)).toEqual(['up.js']);
    expect(await textOf(reply.refreshed[0]?.earlier ?? '')).toBe('one\nmine\n');
    expect(await textOf(`${draft_folder}/up.js`)).toBe('one\ntheirs\n');
    expect((await run('task', 'refresh-drafts', SUBJECT)).out).toContain('No draft');
    await writeProjectFile(cwd, `${draft_folder}/up.js`, 'one\ntheirs\nmine\n');
    const done = await submit();
    expect(done, done.err).toMatchObject({ code: 0 });
    expect([await textOf('up.js'), await textOf('new.js')]).toEqual(['one\ntheirs\nmine\n', 'new\n']);
  });
});

describe('an edge whose run failed before there was a candidate', { timeout: 120_000 }, () => {
  it('is continued by one command, and explain, start and status all name it', async () => {
    const { cwd, run, iterate } = await openProject();
    const path = `.ai-workspace/graph/edges/${EDGE}.yml`;
    await writeProjectFile(cwd, path, FILES[path].replace(/command: \[sh, -c, .*\]/, 'command: ["false"]'));
    const failed = await iterate(SUBJECT, '--json');
    const { run_id, reason } = JSON.parse(failed.out) as Run;
    expect([failed.code, reason]).toEqual([3, 'STEP_FAILED']);
    const retry = `gen runs retry ${run_id}`;
    const explained = await run('task', 'explain', SUBJECT, '--json');
    expect(JSON.parse(explained.out)).toMatchObject({ next: expect.stringContaining(retry) });
    const escalation = { kind: 'suspended', next: retry };
    const started = await run('start', '--json');
    expect(JSON.parse(started.out)).toMatchObject({ escalations: [escalation] });
    const status = await run('status', '--json');
    expect(JSON.parse(status.out)).toMatchObject({
      pending_reviews: [],
      next_actions: expect.arrayContaining([expect.objectContaining({ command: retry })]),
    });
    expect((await run('runs', 'retry', run_id, '--role', 'full_stack')).code).toBe(0);
    const iterated = `gen iterate ${SUBJECT}`;
    const requested = await run('start', '--json');
    expect(JSON.parse(requested.out)).toMatchObject({ escalations: [{ next: iterated }] });
    expect((await run('task', 'explain', SUBJECT)).out.replace(/\s+/g, ' ')).toContain(iterated);
  });
});
