import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, inject, test } from 'vitest';
import type { EventEnvelope } from '../core/events/envelope.js';
import { findSandbox } from '../engine/checks/sandbox.js';
import { onProgram } from '../stores/testing/on-database.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/iterate', import.meta.url));
const EDGE = 'REQ-F-SUM-001#design_code';
const LOG = '.ai-workspace/events/events.jsonl';
const PARALLEL = 2;

async function missingSandbox(): Promise<string | null> {
  const sandbox = await findSandbox(process.env.PATH);
  return sandbox.kind === 'none' ? sandbox.says : null;
}

const parentFolder = await mkdtemp(join(tmpdir(), 'iterate-killed-'));
afterAll(() => rm(parentFolder, { recursive: true, force: true }));
const MAIN = join(inject('built'), 'dist/cli/main.js');
const env = { PATH: process.env.PATH, HOME: parentFolder };

/** The exit code: 0, or 3 if a person has to decide. */
async function gen(cwd: string, ...args: string[]): Promise<number | null> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const [errorText, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  if (code !== 0 && code !== 3) throw new Error(`gen ${args[0]}: ${errorText}`);
  return code;
}
const iterate = (cwd: string): Promise<number | null> =>
  gen(cwd, 'iterate', EDGE, '--role', 'full_stack', '--yes');

/** The example's project, before its first run. */
async function newProject(): Promise<string> {
  const folder = join(parentFolder, 'new');
  await cp(join(EXAMPLE, 'project'), folder, { recursive: true });
  spawnSync('git', ['init', '--quiet'], { cwd: folder });
  await gen(folder, 'init', '--name', 'sums', '--intent', 'Add numbers', '--language', 'javascript');
  const edge = await readFile(join(EXAMPLE, 'design_code.yml'), 'utf8');
  const agent = join(EXAMPLE, 'project', 'agent.sh');
  const edges = join(folder, '.ai-workspace/graph/edges');
  await mkdir(edges, { recursive: true });
  await writeFile(join(edges, 'design_code.yml'), edge.replace('agent.sh', agent));
  const feature = 'feature: REQ-F-SUM-001\ntitle: The sum of two numbers\nprofile: standard\n';
  await writeFile(join(folder, '.ai-workspace/features/active/REQ-F-SUM-001.yml'), feature);
  return folder;
}

async function eventsIn(folder: string): Promise<EventEnvelope[]> {
  const log = await readFile(join(folder, LOG), 'utf8').catch(() => '');
  // The last line may be only half written.
  const lines = log.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line)).filter((line) => 'event_id' in line);
}
const isOfRun = ({ event_type }: EventEnvelope): boolean => event_type.startsWith('run_');
const runEventsIn = async (folder: string): Promise<EventEnvelope[]> =>
  (await eventsIn(folder)).filter(isOfRun);

const hasEnded = async (folder: string): Promise<boolean> =>
  (await eventsIn(folder)).some(({ event_type }) => event_type === 'run_ended');

/** Runs the edge, and kills the process once the log has this many events of the run. */
async function iterateKilled(folder: string, count: number): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'iterate', EDGE, '--role', 'full_stack', '--yes'], {
    cwd: folder,
    env,
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const changes = watch(join(folder, '.ai-workspace/events'));
  const killIfDue = async (): Promise<void> => {
    if ((await runEventsIn(folder)).length >= count) child.kill('SIGKILL');
  };
  changes.on('change', () => void killIfDue());
  await exited;
  changes.close();
}

/** Runs the edge to its end; a person approves the candidate when there is one. */
async function finish(folder: string): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    if ((await iterate(folder)) === 0) return;
    await gen(folder, 'review', '--feature', 'REQ-F-SUM-001', '--approve', '--comment', 'reads well');
  }
  throw new Error('The run does not end.');
}

/** Expects the state that a run must reach, however often it was killed. */
async function expectOneRun(folder: string, label: string): Promise<void> {
  expect(await readFile(join(folder, 'sum.js'), 'utf8'), label).toBe('exports.sum = (a, b) => a + b;\n');
  const events = await eventsIn(folder);
  const ofType = (type: string) => events.filter(({ event_type }) => event_type === type);
  expect(ofType('edge_converged'), label).toHaveLength(1);
  expect(ofType('run_started'), label).toHaveLength(1);
  expect(ofType('run_ended'), label).toMatchObject([{ payload: { status: 'CONVERGED', iterations: 2 } }]);
  expect(new Set(events.map(({ event_id }) => event_id)).size, label).toBe(events.length);
  const completed = new Set<string>();
  for (const { event_type, payload } of events.filter(isOfRun)) {
    const step = `${payload.step} in iteration ${payload.iteration}`;
    if (event_type === 'run_step_started') expect(completed, `${label}: ${step}`).not.toContain(step);
    if (event_type !== 'run_step_completed') continue;
    expect(completed, `${label}: ${step}`).not.toContain(step);
    completed.add(step);
  }
  const files = spawnSync('git', ['status', '--short', '--ignored=no'], { cwd: folder, encoding: 'utf8' });
  expect(files.stdout, label).not.toMatch(/sum\.js\./);
}

async function copyOf(source: string, label: string): Promise<string> {
  const folder = join(parentFolder, label);
  await cp(source, folder, { recursive: true });
  return folder;
}

await onProgram('bwrap', await missingSandbox(), () => {
  test('a run that is killed at any of its events ends like a run that was not killed', async () => {
    const fresh = await newProject();
    const waiting = await copyOf(fresh, 'waiting');
    expect(await iterate(waiting)).toBe(3);
    const eventsUntilReview = (await runEventsIn(waiting)).length;
    await gen(waiting, 'review', '--feature', 'REQ-F-SUM-001', '--approve', '--comment', 'reads well');
    const uninterrupted = await copyOf(waiting, 'uninterrupted');
    await finish(uninterrupted);
    await expectOneRun(uninterrupted, 'uninterrupted');
    const total = (await runEventsIn(uninterrupted)).length;

    const counts = Array.from({ length: total }, (_, at) => at + 1);
    const killAt = async (count: number): Promise<void> => {
      const label = `killed-at-${count}`;
      const folder = await copyOf(count <= eventsUntilReview ? fresh : waiting, label);
      await iterateKilled(folder, count);
      // If the process was killed after the end of the run, nothing is left to do.
      if (!(await hasEnded(folder))) await finish(folder);
      await expectOneRun(folder, label);
      await rm(folder, { recursive: true, force: true });
    };
    const killRemaining = async (): Promise<void> => {
      for (let count = counts.shift(); count !== undefined; count = counts.shift()) await killAt(count);
    };
    await Promise.all(Array.from({ length: PARALLEL }, killRemaining));
  }, 3_600_000);
});
