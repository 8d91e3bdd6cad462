import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FrozenTime } from '../../test/support/frozen-time.js';
import { git } from '../../test/support/git.js';
import { startPlannedHarness } from './testing/cli-harness.js';
import { runGen, startCommand, type TerminalOptions } from './testing/terminal.js';

// req: SDK-005
it('run submits the result file or the end of the output, and releases a failed task', async () => {
  const { terminal } = await startPlannedHarness();
  const wrote = await runGen(terminal, 'run', '--', 'sh', '-c', 'cp "$GENESIS_BRIEFING" "$GENESIS_RESULT"');
  expect(wrote).toMatchObject({ code: 0, err: expect.stringContaining('A-001-schema is done') });
  const said = await runGen(
    terminal,
    'run',
    '--track',
    'B',
    '--',
    'sh',
    '-c',
    'echo "$GENESIS_TASK_ID gen $GENESIS_GENERATION"',
  );
  expect(said).toMatchObject({ code: 0, out: 'B-001-api gen 1\n' });
  const resultsOf = async (taskId: string) => {
    const path = `/api/tenants/default/projects/shop/tasks/${encodeURIComponent(taskId)}/results`;
    const reply = await fetch(terminal.env.GENESIS_URL + path);
    return ((await reply.json()) as { results: unknown }).results;
  };
  expect(await resultsOf('A-001-schema')).toMatchObject([
    { result_data: { description: 'Design the schema' } },
  ]);
  expect(await resultsOf('B-001-api')).toMatchObject([
    { result_data: { exit_code: 0, stdout: 'B-001-api gen 1\n' } },
  ]);
  const failed = await runGen(terminal, 'run', '--', 'sh', '-c', 'echo no disk >&2; exit 7');
  expect(failed.code).toBe(1);
  const { out } = await runGen(terminal, 'task', 'explain', 'A-002-index::1');
  expect(out).toContain('exit code 7: no disk');
  await writeFile(join(terminal.cwd, 'old.json'), '{"of":"yesterday"}');
  const old = await runGen(terminal, 'run', '--result', 'old.json', '--', 'true');
  expect(old).toMatchObject({ code: 1, err: expect.stringContaining('did not write old.json') });
});

it('run kills the program and its child processes when the claim is lost, even if they ignore SIGTERM', async () => {
  const time = FrozenTime.begin();
  const { terminal } = await startPlannedHarness();
  const ignoringSigterm =
    "trap '' TERM; sh -c 'while :; do sleep 0.1; done' & trap 'echo terminated > terminated' TERM; echo $$ > started; " +
    'while :; do wait; done';
  const running = startCommand(terminal, 'run', '--lease', '1', '--', 'sh', '-c', ignoringSigterm);
  const ended = running.ended;
  const group = Number(await waitForText(join(terminal.cwd, 'started')));
  expect(isAlive(group)).toBe(true);
  await runGen(terminal, 'task', 'force-release', 'A-001-schema', '--reason', 'it is stuck');
  await waitForText(join(terminal.cwd, 'terminated'));
  expect(isAlive(group)).toBe(true);
  // The program ends only when the grace period is over.
  expect(await time.advanceUntil(ended)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/A-001-schema: the claim was lost \(\w+\)\. The program was stopped/),
  });
  await waitForGroupExit(group);
});

it('run forwards stop signals, and submits a result that the program still completes', async () => {
  FrozenTime.begin();
  lengthenGracePeriod();
  const { terminal } = await startPlannedHarness();
  const tidy =
    'trap \'echo "{}" > "$GENESIS_RESULT"; exit 0\' INT; echo $$ > started; while :; do sleep 0.1; done';
  const running = startCommand(terminal, 'run', '--', 'sh', '-c', tidy);
  const ended = running.ended;
  await waitForText(join(terminal.cwd, 'started'));
  running.stop('SIGINT');
  expect(await ended).toMatchObject({ code: 0, err: expect.stringContaining('A-001-schema is done') });
  const untidy = startCommand(
    terminal,
    'run',
    '--track',
    'B',
    '--',
    'sh',
    '-c',
    'echo $$ > other; sleep 600',
  );
  const stopped = untidy.ended;
  const group = Number(await waitForText(join(terminal.cwd, 'other')));
  untidy.stop('SIGTERM');
  expect((await stopped).code).toBe(130);
  await waitForGroupExit(group);
  expect((await runGen(terminal, 'task', 'history', 'B-001-api')).out).toContain('VOLUNTARY');
});

it('run --loop continues until all tasks are done', async () => {
  const { terminal } = await startPlannedHarness();
  const looped = await runGen(terminal, 'run', '--loop', '--json', '--', 'true');
  expect(looped.code).toBe(0);
  expect(JSON.parse(looped.out)).toMatchObject({ accepted: 5, refused: 0, failed: 0, lost: 0 });
  const later = await runGen(terminal, 'run', '--loop', '--', 'true');
  expect(later).toMatchObject({ code: 0, err: expect.stringMatching(/All work of .+ is done/) });
  expect((await runGen(terminal, 'next')).err).toMatch(
    /^NOTHING_READY\. Every task in the plan is completed\. Do not wait\.\n$/,
  );
  const single = await runGen(terminal, 'run', '--', 'true');
  expect(single).toMatchObject({ code: 0, err: 'All work of shop is done.\n' });
});

it('run --loop says that all tasks are done and exits with 0, even if a task failed at first', async () => {
  const { terminal } = await startPlannedHarness();
  const failOnce = 'if [ -e tried ]; then exit 0; fi; touch tried; echo no disk >&2; exit 7';
  const looped = await runGen(
    terminal,
    'run',
    '--loop',
    '--track',
    'A',
    '--track',
    'B',
    '--',
    'sh',
    '-c',
    failOnce,
  );
  expect(looped).toMatchObject({
    code: 0,
    err: expect.stringMatching(/1 failed.*\nAll tasks of tracks A, B of shop are done\.\n$/),
  });
  expect(looped.err).toMatch(/failed: exit code 7: no disk/);
});

it('run --loop exits with 130 if a signal stops it while nothing is under way', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', 'A-001-schema');
  const waiting = startCommand(terminal, 'run', '--loop', '--track', 'A', '--', 'true');
  await waiting.waitForErrorOutput('until all work is done');
  waiting.stop('SIGINT');
  expect(await waiting.ended).toMatchObject({ code: 130, err: expect.stringContaining('0 released') });
});

it('run --loop reports the outcome of a task before it starts the next', async () => {
  const { terminal } = await startPlannedHarness();
  const looped = await runGen(terminal, 'run', '--loop', '--', 'true');
  const lines = looped.err.split('\n').filter((line) => /is done:|generation/.test(line));
  expect(lines).toHaveLength(10);
  for (const [index, line] of lines.entries())
    expect(line).toMatch(index % 2 === 0 ? /generation 1/ : /is done/);
});

it('run says that nothing is ready if others hold all the work that can be claimed', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', 'A-001-schema');
  const idle = await runGen(terminal, 'run', '--', 'true');
  expect(idle).toMatchObject({ code: 1, err: expect.stringContaining('NOTHING_READY') });
});

describe('in a git repository', () => {
  const resultOf = async ({ env }: TerminalOptions, taskId: string) => {
    const path = `/api/tenants/default/projects/shop/tasks/${taskId}/results`;
    const { results } = (await (await fetch(`${env?.GENESIS_URL}${path}`)).json()) as { results: unknown[] };
    return results[0];
  };

  it('a result carries the branch, the commits at claim and submission, and what changed between them', async () => {
    const { terminal } = await startPlannedHarness();
    git(terminal.cwd, 'init', '--quiet', '--initial-branch', 'work');
    git(terminal.cwd, 'commit', '--quiet', '--allow-empty', '-m', 'begin');
    const base = git(terminal.cwd, 'rev-parse', 'HEAD');
    const edit =
      'printf "one\\ntwo\\n" > a.txt; git add a.txt; git -c user.name=a -c user.email=a@example.org commit -q -m a';
    expect(await runGen(terminal, 'run', '--', 'sh', '-c', edit)).toMatchObject({ code: 0 });
    const head = git(terminal.cwd, 'rev-parse', 'HEAD');
    expect(head).not.toBe(base);
    expect(await resultOf(terminal, 'A-001-schema')).toMatchObject({
      accepted: true,
      metadata: { git: { branch: 'work', base, head, diffstat: { files: 1, insertions: 2, deletions: 0 } } },
    });
  });

  it('a result is submitted without the metadata if git fails', async () => {
    const { terminal } = await startPlannedHarness();
    await writeFile(join(terminal.cwd, '.git'), 'gitdir: /does/not/exist\n');
    expect(await runGen(terminal, 'run', '--', 'true')).toMatchObject({ code: 0 });
    expect(await resultOf(terminal, 'A-001-schema')).toMatchObject({ accepted: true, metadata: {} });
  });
});

it('run claims nothing if the program cannot be started', async () => {
  const { terminal } = await startPlannedHarness();
  const file = join(terminal.cwd, 'agent.sh');
  const missing = await runGen(terminal, 'run', '--loop', '--', './agent.sh');
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('Program not found: ./agent.sh') });
  const unknown = await runGen(terminal, 'run', '--', 'no-such-agent');
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('on the PATH: no-such-agent') });
  await writeFile(file, '#!/no/such/shell\n');
  const locked = await runGen(terminal, 'run', '--loop', '--', './agent.sh');
  expect(locked).toMatchObject({ code: 2, err: expect.stringContaining(`chmod +x ${file}`) });
  expect((await runGen(terminal, 'events')).out).not.toContain('A-001-schema');
  await chmod(file, 0o755);
  const broken = await runGen(terminal, 'run', '--loop', '--json', '--', './agent.sh');
  expect(broken.code).toBe(1);
  expect(JSON.parse(broken.out)).toMatchObject({ failed: 1 });
});

/** Makes the grace period long enough for any machine. */
function lengthenGracePeriod(): void {
  const { setTimeout: start } = globalThis;
  const spy = vi.spyOn(globalThis, 'setTimeout');
  spy.mockImplementation(((task: () => void, ms = 0) => start(task, ms < 1000 ? ms : 3_600_000)) as never);
  onTestFinished(() => spy.mockRestore());
}

async function waitForText(file: string): Promise<string> {
  for (;;) {
    const content = await readFile(file, 'utf8').catch(() => '');
    if (content.endsWith('\n')) return content;
    await pause(20);
  }
}

/** Resolves when the whole process group has ended. */
async function waitForGroupExit(group: number): Promise<void> {
  while (isAlive(group)) await pause(20);
}

function isAlive(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

it('run releases a task whose result is a pipe, instead of waiting for its writer', async () => {
  const { terminal } = await startPlannedHarness();
  const piped = await runGen(terminal, 'run', '--', 'sh', '-c', 'mkfifo "$GENESIS_RESULT"');
  expect(piped).toMatchObject({ code: 1, err: expect.stringContaining('is not a regular file') });
});

it('run releases a task whose result exceeds the size limit, without reading it', async () => {
  const { terminal } = await startPlannedHarness();
  const huge = await runGen(terminal, 'run', '--', 'sh', '-c', 'truncate -s 300M "$GENESIS_RESULT"');
  expect(huge).toMatchObject({ code: 1, err: expect.stringContaining('at most 268435456') });
});
