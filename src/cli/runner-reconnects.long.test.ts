import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { selfCommand } from './self.js';
import { runGen } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const EDGE = 'intent_requirements';
const OTHER_FEATURE_ID = 'REQ-F-PAY-001';
const [PROGRAM, ...WORDS] = selfCommand();
const PATH = process.env.PATH ?? '';

const WORKSPACE = {
  '.gitignore': '.home/\n',
  [`.ai-workspace/features/active/${OTHER_FEATURE_ID}.yml`]: `feature: ${OTHER_FEATURE_ID}
title: People pay
intent: INT-001
vector_type: feature
profile: minimal
priority: high
`,
  '.ai-workspace/profiles/minimal.yml': `profile: minimal
graph: {include: ["intent→requirements"]}
evaluators: {default: [agent, deterministic]}
`,
  '.ai-workspace/context/project_constraints.yml': 'project: {default_profile: minimal}\n',
};

function startProcess(cwd: string, env: Readonly<Record<string, string>>, ...argv: string[]): ChildProcess {
  const child = spawn(PROGRAM, [...WORDS, ...argv], {
    cwd,
    env: { PATH, HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test('a runner outlives the command whose server it used, and checks the candidates of the next command', async () => {
  const terminal = await createProject(WORKSPACE);
  const { cwd, env = {} } = terminal;
  const constructed = join(await temporaryFolder(), 'constructed');
  const agent = `mkdir -p docs; cat > /dev/null; echo login > docs/login-$$.md; touch ${constructed}`;
  await writeProjectFile(
    cwd,
    `.ai-workspace/graph/edges/${EDGE}.yml`,
    `edge: "intent→requirements"
checklist:
  - {name: answers, type: deterministic, criterion: "It answers", required: true, command: "grep -rq login docs"}
construct: {type: command, command: [sh, -c, "${agent}"]}
`,
  );
  const run = (...argv: string[]) => runGen({ ...terminal, env: { ...env, PATH } }, ...argv);
  expect(await run('policy', 'evidence=verified')).toMatchObject({ code: 0 });
  expect(await run('runner', 'enrol')).toMatchObject({ code: 0 });

  const iterate = (feature: string) => ['iterate', `${feature}#${EDGE}`, '--role', 'architect', '--yes'];
  const first = startProcess(cwd, env, ...iterate(FEATURE_ID));
  const firstEnded = once(first, 'exit');
  // The first run holds the log now, so the runner has to use its server.
  await vi.waitFor(() => access(constructed), { timeout: 60_000 });
  const runner = startProcess(cwd, env, 'runner', 'run', '--root', '.', '--unsandboxed');
  const runnerEnded = once(runner, 'exit');
  const lines = createInterface({ input: runner.stdout ?? process.stdin });
  const evidence: string[] = [];
  lines.on('line', (line) => evidence.push(line));
  expect(await firstEnded).toEqual([0, null]);

  const second = once(startProcess(cwd, env, ...iterate(OTHER_FEATURE_ID)), 'exit');
  // A runner that ended would leave the second run waiting.
  expect(await Promise.race([second, runnerEnded.then(() => 'the runner ended')])).toEqual([0, null]);
  runner.kill('SIGINT');
  expect(await runnerEnded).toEqual([130, null]);
  expect(evidence).toEqual([
    expect.stringMatching(`^${FEATURE_ID}#.*answers pass`),
    expect.stringMatching(`^${OTHER_FEATURE_ID}#.*answers pass`),
  ]);
}, 180_000);
