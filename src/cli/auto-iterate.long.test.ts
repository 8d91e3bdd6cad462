import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { selfCommand } from './self.js';
import { createProject, writeProjectFile } from './testing/workspace.js';

const [PROGRAM, ...WORDS] = selfCommand();

/** The constructor waits in its first call, so that the executor can be killed in the middle of a step. */
const AGENT = `echo call >> "$1/calls"
if [ ! -e "$1/go" ]; then echo $$ > "$1/pid"; mv "$1/pid" "$1/started"; exec sleep 600; fi
mkdir -p docs && echo done > docs/login.md
`;
const edgeFile = (root: string) => `edge: "intent→requirements"
checklist:
  - { name: has_docs, type: deterministic, criterion: "It is there", required: true, command: "test -d docs" }
construct: { type: command, command: [sh, "${root}/agent.sh", "${root}"] }
convergence: { max_iterations: 3 }
`;
const PROFILE = `profile: minimal
graph: {include: ["intent→requirements"]}
evaluators: {default: [agent, deterministic]}
`;

async function waitForFile(folder: string, name: string): Promise<void> {
  const watcher = watch(folder);
  try {
    while (!existsSync(join(folder, name))) await once(watcher, 'change');
  } finally {
    watcher.close();
  }
}

test('gen iterate --auto continues after it was killed with SIGKILL, and the edge converges once', async () => {
  const { cwd, env } = await createProject({ '.ai-workspace/profiles/minimal.yml': PROFILE });
  await writeFile(join(cwd, 'agent.sh'), AGENT);
  await writeProjectFile(cwd, '.ai-workspace/graph/edges/intent_requirements.yml', edgeFile(cwd));
  const iterate = (): ChildProcess => {
    const options = ['iterate', '--auto', '--unsandboxed', '--yes', '--role', 'full_stack'];
    const child = spawn(PROGRAM, [...WORDS, ...options], {
      cwd,
      env: { ...env, PATH: process.env.PATH, GENESIS_HOME: join(cwd, '.home') },
      stdio: 'ignore',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const killed = iterate();
  await waitForFile(cwd, 'started');
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  process.kill(Number(await readFile(join(cwd, 'started'), 'utf8')), 'SIGKILL');
  await writeFile(join(cwd, 'go'), '');
  const [code] = (await once(iterate(), 'exit')) as [number];
  expect(code).toBe(0);
  const log = await readFile(join(cwd, '.ai-workspace/events/events.jsonl'), 'utf8');
  const types = [...log.matchAll(/"event_type":"(\w+)"/g)].map(([, type]) => type);
  for (const type of ['run_started', 'run_ended', 'edge_converged'])
    expect(
      types.filter((each) => each === type),
      type,
    ).toHaveLength(1);
  expect(await readFile(join(cwd, 'docs/login.md'), 'utf8')).toBe('done\n');
  expect(await readFile(join(cwd, 'calls'), 'utf8')).toBe('call\ncall\n');
}, 240_000);
