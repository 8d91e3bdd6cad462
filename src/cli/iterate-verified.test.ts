import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { Genesis } from '../client/index.js';
import type { Run } from '../core/engine/runs.js';
import { findSandbox } from '../engine/checks/sandbox.js';
import { onProgram } from '../stores/testing/on-database.js';
import { selfCommand } from './self.js';
import { runGen } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const EDGE = 'intent_requirements';
const SUBJECT = `${FEATURE_ID}#${EDGE}`;
const [PROGRAM, ...WORDS] = selfCommand();
const PATH = process.env.PATH ?? '';

/** The constructor writes a program. Its first candidate is wrong; it is right once the prompt names the failed check. */
const AGENT = `mkdir -p bin
case "$(cat)" in
  *"Findings of the last iteration"*) text=login ;;
  *) text=nothing ;;
esac
printf '#!/bin/sh\\necho %s\\n' "$text" > bin/answer
chmod +x bin/answer
`;
const WORKSPACE = {
  '.gitignore': '.home/\n',
  'agent.sh': AGENT,
  [`.ai-workspace/graph/edges/${EDGE}.yml`]: `edge: "intent→requirements"
checklist:
  - {name: answers, type: deterministic, criterion: "It answers", required: true, shell: true, command: "for program in bin/*; do $program; done | grep login"}
construct: {type: command, command: [sh, agent.sh]}
convergence: {max_iterations: 3}
`,
  '.ai-workspace/profiles/minimal.yml': `profile: minimal
graph: {include: ["intent→requirements"]}
evaluators: {default: [agent, deterministic]}
`,
  '.ai-workspace/context/project_constraints.yml': 'project: {default_profile: minimal}\n',
};

/** A process of gen, ended with the test; and the first line that it prints. */
async function startProcess(cwd: string, env: Record<string, string>, ...argv: string[]) {
  const child: ChildProcess = spawn(PROGRAM, [...WORDS, ...argv], {
    cwd,
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const firstLine = once(lines, 'line').then(([line]) => String(line));
  return { child, firstLine };
}

async function openVerifiedWorkspace() {
  const project = await createProject(WORKSPACE);
  const { cwd } = project;
  await writeProjectFile(
    cwd,
    `.ai-workspace/graph/edges/${EDGE}.yml`,
    WORKSPACE[`.ai-workspace/graph/edges/${EDGE}.yml`].replace('agent.sh', join(cwd, 'agent.sh')),
  );
  execFileSync('git', ['init', '--quiet'], { cwd });
  const home = { GENESIS_HOME: join(cwd, '.home'), HOME: cwd };
  const up = await startProcess(cwd, home, 'up', '--port', '0', '--json');
  const { url, token } = JSON.parse(await up.firstLine) as { url: string; token?: string };
  const client = new Genesis({ url, project: 'shop', ...(token === undefined ? {} : { token }) });
  const terminal = { ...project, env: { ...project.env, PATH } };
  const run = (...argv: string[]) => runGen(terminal, ...argv);
  expect((await run('policy', 'evidence=verified')).code).toBe(0);
  return { cwd, home, client, run };
}

const missingSandbox = async (): Promise<string | null> => {
  const sandbox = await findSandbox(PATH);
  return sandbox.kind === 'none' ? sandbox.says : null;
};

await onProgram('bwrap', await missingSandbox(), () => {
  test('an edge converges by the evidence of a runner process: the first candidate fails, the second passes', async () => {
    const { cwd, home, client, run } = await openVerifiedWorkspace();
    const keyFile = join(await temporaryFolder(), 'runner.pem');
    expect((await run('runner', 'enrol', '--key', keyFile)).code).toBe(0);
    const runner = await startProcess(cwd, home, 'runner', 'run', '--root', '.', '--key', keyFile);
    const ended = await run('iterate', SUBJECT, '--yes', '--role', 'architect');
    expect(ended, ended.out).toMatchObject({ code: 0 });
    expect(await runner.firstLine).toContain('answers fail');
    // The process of gen up promotes the result.
    const promotedText = () => readFile(join(cwd, 'bin/answer'), 'utf8');
    expect(await vi.waitFor(promotedText, { timeout: 60_000 })).toContain('echo login');
    expect((await stat(join(cwd, 'bin/answer'))).mode & 0o100).toBe(0o100);
    const eventsOfType = async (type: string) => {
      const page = await client.events({ type });
      return 'events' in page ? page.events : [];
    };
    expect(await eventsOfType('CANDIDATE_PROPOSED')).toHaveLength(2);
    expect(await eventsOfType('edge_converged')).toHaveLength(1);
    const [failed] = await eventsOfType('EVIDENCE_RECORDED');
    expect(failed?.payload).toMatchObject({
      record: { evidence: [{ statement: { checks: [{ name: 'answers', result: 'fail' }] } }] },
    });
  }, 120_000);

  test('a base with other files than the project stops the run in its first iteration, and a retry converges once they agree', async () => {
    const { cwd, home, run } = await openVerifiedWorkspace();
    const keyFile = join(await temporaryFolder(), 'runner.pem');
    const base = await temporaryFolder();
    await writeProjectFile(cwd, 'bin/answer', 'committed later');
    await writeProjectFile(base, 'bin/answer', 'old');
    expect((await run('runner', 'enrol', '--key', keyFile)).code).toBe(0);
    await startProcess(cwd, home, 'runner', 'run', '--root', base, '--key', keyFile);
    const ended = await run('iterate', SUBJECT, '--yes', '--role', 'architect', '--json');
    const stopped = JSON.parse(ended.out) as Run;
    expect([ended.code, stopped]).toMatchObject([
      3,
      { status: 'ESCALATED', reason: 'BASE_DIFFERS', iterations: 1 },
    ]);
    expect(stopped.says).toMatch(/In the base \(folder [0-9a-f]{12}\) bin\/answer is .*git pull/);
    const retry = `gen runs retry ${stopped.run_id}`;
    expect([stopped.says, (await run('runs', 'show', stopped.run_id)).out]).toEqual([
      expect.stringContaining(retry),
      expect.stringContaining(retry),
    ]);
    await writeProjectFile(base, 'bin/answer', 'committed later');
    expect((await run('runs', 'retry', stopped.run_id, '--role', 'architect')).code).toBe(0);
    const retried = await run('iterate', SUBJECT, '--yes', '--role', 'architect');
    expect(retried, retried.out).toMatchObject({ code: 0 });
  }, 180_000);

  test('a run without an enrolled runner is escalated at once with this reason, and constructs nothing', async () => {
    const { run, client } = await openVerifiedWorkspace();
    const ended = await run('iterate', SUBJECT, '--yes', '--role', 'architect');
    expect([ended.code, ended.out]).toEqual([3, expect.stringMatching(/no runner is\s+enrolled/)]);
    const proposed = await client.events({ type: 'CANDIDATE_PROPOSED' });
    expect('events' in proposed && proposed.events).toEqual([]);
  }, 120_000);
});
