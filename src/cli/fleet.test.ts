import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { git } from '../../test/support/git.js';
import { Genesis } from '../client/index.js';
import { readFleetFile } from './fleet/fleet-file.js';
import type { FleetReport } from './fleet/report.js';
import { unwrapReply } from './replies.js';
import { selfCommand } from './self.js';
import { type CliHarness, PLAN, startHarness, startPlannedHarness } from './testing/cli-harness.js';
import { runGen, startCommand } from './testing/terminal.js';

const SAMPLE_PLAN = new URL('../../examples/plan.yaml', import.meta.url).pathname;
const SAMPLE_TASKS = 7;

const genesisOf = ({ server }: CliHarness): Genesis =>
  new Genesis({ url: server.url, tenant: 'default', project: 'shop' });

/** The content of a file, once it has a whole line. */
async function waitForText(file: string): Promise<string> {
  for (;;) {
    const content = await readFile(file, 'utf8').catch(() => '');
    if (content.endsWith('\n')) return content.trim();
    await pause(20);
  }
}

async function waitForExit(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await pause(20);
  }
}

it('gen fleet runs the sample plan in worktrees, and restarts an agent that was killed meanwhile', async () => {
  const harness = await startHarness();
  const { terminal } = harness;
  const { cwd } = terminal;
  git(cwd, 'init', '--quiet', '--initial-branch', 'main');
  git(cwd, 'commit', '--quiet', '--allow-empty', '-m', 'begin');
  await runGen(terminal, 'plan', 'import', SAMPLE_PLAN);
  // The first program on A-001-schema kills its worker, and would continue without a claim.
  const script = `
    if [ "$GENESIS_TASK_ID" = A-001-schema ] && [ ! -e "${cwd}/orphan" ]; then
      until ls "${cwd}/.genesis/fleet/$GENESIS_AGENT".*.group; do sleep 0.1; done
      echo $$ > "${cwd}/orphan"; kill -9 $PPID; sleep 600
    fi
    echo "$GENESIS_TASK_ID" > "$GENESIS_TASK_ID.txt"
    git add . && git -c user.name=a -c user.email=a@example.org commit -q -m "$GENESIS_TASK_ID"
    echo "{\\"by\\":\\"$GENESIS_AGENT\\"}" > "$GENESIS_RESULT"`;
  const fleet = await runGen(
    terminal,
    'fleet',
    '-n',
    '2',
    '--name',
    'worker',
    '--json',
    '--',
    'sh',
    '-c',
    script,
  );
  expect(fleet.err).toMatch(/worker-\d ended \(SIGKILL\)\. Restart 1 of 5 in 0\.5 s/);
  expect(fleet.code).toBe(0);
  await waitForExit(Number(await waitForText(join(cwd, 'orphan'))));

  const report = JSON.parse(fleet.out) as FleetReport;
  expect(report).toMatchObject({ left: { task_total: 0, task_ids: [] }, refused: [] });
  expect(report.agents.map(({ agent_id, state }) => [agent_id, state])).toEqual([
    ['worker-1', 'done'],
    ['worker-2', 'done'],
  ]);
  const totalOf = (field: 'accepted' | 'released' | 'restarts') =>
    report.agents.reduce((total, agent) => total + agent[field], 0);
  expect(totalOf('accepted')).toBe(SAMPLE_TASKS);
  expect(totalOf('restarts')).toBe(1);
  expect(totalOf('released')).toBe(1);

  // The claim of the killed agent was released at once, and the next result names the branch that it is on.
  const results = await genesisOf(harness).results('A-001-schema');
  expect(results).toMatchObject({
    results: [
      {
        generation: 2,
        result_data: { by: expect.stringMatching(/^worker-\d$/) },
        metadata: { git: { branch: expect.stringMatching(/^fleet\/worker-\d$/), diffstat: { files: 1 } } },
      },
    ],
  });
  const commits = report.worktrees.reduce((total, worktree) => total + (worktree.commits ?? 0), 0);
  expect(commits).toBe(SAMPLE_TASKS);
  for (const { folder, branch } of report.worktrees)
    expect(git(folder ?? '', 'symbolic-ref', '--short', 'HEAD')).toBe(branch);
  expect(git(cwd, 'status', '--porcelain')).not.toContain('fleet');
  for (const { log } of report.agents)
    expect(await readFile(log, 'utf8')).toContain('All work of shop is done.');
});

it('gen fleet gives up an agent that dies again and again, and says which tasks are left', async () => {
  const { terminal } = await startPlannedHarness();
  // The program kills its worker only when the file with the program's process group exists, so that the fleet stops the
  // program too.
  const dying = 'until ls .genesis/fleet/*.group; do sleep 0.1; done; kill -9 $PPID; sleep 600';
  const fleet = await runGen(terminal, 'fleet', '--restarts', '1', '--', 'sh', '-c', dying);
  expect(fleet.out).toMatch(/sh-[0-9a-f]{4} ended \(SIGKILL\) and is given up after 1 restarts? in a row/);
  expect(fleet.out).toMatch(/sh-[0-9a-f]{4} +gave up +0 /);
  expect(fleet.out).toContain('5 tasks are left: A-001-schema, ');
  expect(fleet.code).toBe(1);
});

it('gen fleet shows the agents live on a terminal, and Ctrl-C stops them and their programs and releases their claims', async () => {
  const harness = await startPlannedHarness();
  const { terminal } = harness;
  const script = 'echo "working on $GENESIS_TASK_ID"; echo $$ > started; sleep 600';
  const screen = { ...terminal, columns: 160, env: { ...terminal.env, NO_COLOR: '1' } };
  const fleet = startCommand(screen, 'fleet', '--name', 'solo', '--', 'sh', '-c', script);
  await fleet.waitForOutput(/solo-1 +running +A-001-schema +1 +in \d+ \S+ +0 +working on A-001-schema/);
  const program = Number(await waitForText(join(terminal.cwd, 'started')));
  fleet.stop('SIGINT');
  const { code, out } = await fleet.ended;
  expect(code).toBe(130);
  expect(out).toMatch(/solo-1 +stopped +0 +0 +0 +0 +0 +1 /);
  await waitForExit(program);
  expect(await genesisOf(harness).status()).toMatchObject({ claims: [], counts: { claimed: 0 } });
  const fleetFiles = (await readdir(join(terminal.cwd, '.genesis', 'fleet'))).sort();
  expect(fleetFiles).toEqual(['.gitignore', 'solo-1.lock', 'solo-1.log']);
});

it('gen fleet runs the groups of agents in fleet.yml, each with its tracks and its environment', async () => {
  const harness = await startPlannedHarness();
  const { terminal } = harness;
  await writeFile(
    join(terminal.cwd, 'fleet.yml'),
    `agents:
  - name: builder
    command: echo "$STYLE" > "$GENESIS_RESULT"
    tracks: [A]
    role: implementer
    environment: { STYLE: plain }
  - name: writer
    command: [sh, -c, 'echo "$STYLE" > "$GENESIS_RESULT"']
    tracks: [B]
    environment: { STYLE: fancy }
`,
  );
  const fleet = await runGen(terminal, 'fleet');
  expect(fleet).toMatchObject({ code: 0, out: expect.stringContaining('All work is done.') });
  const genesis = genesisOf(harness);
  expect(await genesis.results('A-001-schema')).toMatchObject({
    results: [{ agent_id: 'builder-1', result_data: 'plain\n' }],
  });
  expect(await genesis.results('B-001-api')).toMatchObject({
    results: [{ agent_id: 'writer-1', result_data: 'fancy\n' }],
  });
  const { agents } = unwrapReply(await genesis.agents());
  expect(agents.find(({ agent_id }) => agent_id === 'builder-1')?.role).toBe('implementer');
});

it('gen fleet has a help text whose examples work as they are', async () => {
  const harness = await startPlannedHarness();
  const { terminal } = harness;
  const { out: help } = await runGen(terminal, 'fleet', '--help');
  const [, script = ''] = /^ {2}gen fleet -n 3 -- sh -c '(.*)'$/m.exec(help) ?? [];
  expect(await runGen(terminal, 'fleet', '-n', '3', '--', 'sh', '-c', script)).toMatchObject({ code: 0 });
  expect(await genesisOf(harness).results('B-001-api')).toMatchObject({
    results: [{ accepted: true, result_data: 'I did B-001-api\n' }],
  });
  const [, file = ''] = /started with "gen fleet":\n((?: {2}.*\n)+)/.exec(help) ?? [];
  const fleetFile = readFleetFile('fleet.yml', file.replace(/^ {2}/gm, ''));
  expect(fleetFile).toMatchObject({ ok: true, groups: [{ name: 'builder', count: 3 }, { name: 'checker' }] });
});

it('gen fleet stops its agents if its output is no longer read', async () => {
  const { terminal } = await startPlannedHarness();
  const [program, ...words] = selfCommand();
  const script = 'echo $$ > started; sleep 600';
  const fleet = spawn(program, [...words, 'fleet', '--', 'sh', '-c', script], {
    cwd: terminal.cwd,
    env: { PATH: process.env.PATH, ...terminal.env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(fleet, 'exit');
  const group = Number(await waitForText(join(terminal.cwd, 'started')));
  fleet.stdout.destroy();
  // The line about the released claim is the first that the fleet cannot write.
  await runGen(terminal, 'task', 'force-release', 'A-001-schema', '--reason', 'a test');
  await ended;
  await waitForExit(group);
});

it('gen fleet is refused while another fleet has agents with the same names, and does not change their worktrees', async () => {
  const { terminal } = await startPlannedHarness();
  const { cwd } = terminal;
  git(cwd, 'init', '--quiet', '--initial-branch', 'main');
  git(cwd, 'commit', '--quiet', '--allow-empty', '-m', 'begin');
  const script = `touch "${cwd}/started"; until [ -e "${cwd}/go" ]; do sleep 0.05; done
    git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m "$GENESIS_TASK_ID"`;
  const first = startCommand(terminal, 'fleet', '--name', 'worker', '--', 'sh', '-c', script);
  await first.waitForOutput('worker-1  A-001-schema: claimed');
  const second = await runGen(terminal, 'fleet', '-n', '2', '--name', 'worker', '--', 'true');
  expect(second.code).not.toBe(0);
  expect(second.err).toMatch(
    new RegExp(
      `Another gen fleet \\(process ${process.pid}\\) has an agent with the name worker-1 .* --name`,
    ),
  );
  expect(existsSync(join(cwd, '.genesis', 'fleet', 'worker-1'))).toBe(true);
  await writeFile(join(cwd, 'go'), '');
  const { code, out } = await first.ended;
  expect(code).toBe(0);
  expect(out).toContain('branch fleet/worker-1: 5 commits');
  expect(out).toMatch(/^ *git merge fleet\/worker-1$/m);
  // When the first fleet has ended, another fleet may use its names.
  expect((await runGen(terminal, 'fleet', '--name', 'worker', '--', 'true')).code).toBe(0);
});

it('the agents of a killed gen fleet stop, and release their claims', async () => {
  const harness = await startPlannedHarness();
  const { terminal } = harness;
  const [program, ...words] = selfCommand();
  // Output that is not read must not end the worker before it has released its claim.
  const script = 'echo $PPID > worker; echo $$ > started; while :; do echo busy; sleep 0.05; done';
  const fleet = spawn(program, [...words, 'fleet', '--', 'sh', '-c', script], {
    cwd: terminal.cwd,
    env: { PATH: process.env.PATH, ...terminal.env },
    stdio: 'ignore',
  });
  const ended = once(fleet, 'exit');
  const group = Number(await waitForText(join(terminal.cwd, 'started')));
  const worker = Number(await waitForText(join(terminal.cwd, 'worker')));
  fleet.kill('SIGKILL');
  await ended;
  await waitForExit(group);
  await waitForExit(worker);
  expect(await genesisOf(harness).status()).toMatchObject({ claims: [], counts: { claimed: 0 } });
  expect((await runGen(terminal, 'task', 'history', 'A-001-schema')).out).toContain('VOLUNTARY');
});

it('gen fleet gives up agents whose command no shell can run, and says why', async () => {
  const { terminal } = await startPlannedHarness();
  await writeFile(join(terminal.cwd, 'fleet.yml'), 'agents:\n  - name: typo\n    command: ./nosuch.sh\n');
  const fleet = await runGen(terminal, 'fleet', '--restarts', '1');
  expect(fleet.code).toBe(1);
  expect(fleet.out).toMatch(
    /typo-1 ended \(exit code 1\) and is given up after 1 restarts? .* Its last line: No more work is claimed: .*nosuch\.sh cannot be run \(exit code 127/,
  );
  expect(fleet.out).toMatch(/typo-1 +gave up +0 +0 +0 +2 /);
  await writeFile(join(terminal.cwd, 'fleet.yml'), 'agents:\n  - name: typo\n    command: [./nosuch.sh]\n');
  expect(await runGen(terminal, 'fleet')).toMatchObject({
    code: 2,
    err: expect.stringContaining('Program not found: ./nosuch.sh'),
  });
});

it('gen fleet counts only its own results, also when no session can be opened', async () => {
  const harness = await startPlannedHarness();
  const { terminal } = harness;
  expect((await runGen(terminal, 'fleet', '--name', 'worker', '--', 'true')).code).toBe(0);
  await writeFile(join(terminal.cwd, 'more.yaml'), `${PLAN}    - id: B-002-more\n      description: More\n`);
  expect((await runGen(terminal, 'plan', 'import', 'more.yaml')).code).toBe(0);
  unwrapReply(await genesisOf(harness).putLimits({ max_active_sessions: 1 }));
  unwrapReply(await genesisOf(harness).openSession({ session_id: 'the-only-one' }));
  const fleet = await runGen(
    terminal,
    'fleet',
    '--name',
    'worker',
    '--restarts',
    '0',
    '--json',
    '--',
    'true',
  );
  expect(fleet.err).toMatch(/worker-1 ended \(DENIED_LIMIT: /);
  expect(JSON.parse(fleet.out)).toMatchObject({ agents: [{ accepted: 0, state: 'gave_up' }] });
  expect(fleet.code).toBe(1);
});

it('gen fleet says once why its agents wait', async () => {
  const { terminal } = await startPlannedHarness();
  await runGen(terminal, 'task', 'claim', 'A-001-schema');
  const fleet = startCommand(terminal, 'fleet', '-n', '2', '--name', 'worker', '--', 'true');
  await fleet.waitForOutput('No work can be claimed now: waiting until other work is completed.');
  await runGen(terminal, 'task', 'release', 'A-001-schema');
  const { code, out } = await fleet.ended;
  expect(code).toBe(0);
  expect(out.match(/No work can be claimed now/g)).toHaveLength(1);
});

it('gen fleet refuses wrong usage before anything is started', async () => {
  const { terminal } = await startPlannedHarness();
  const runFleetCommand = (...args: string[]) => runGen(terminal, 'fleet', ...args);
  expect(await runFleetCommand()).toMatchObject({
    code: 2,
    err: expect.stringContaining('after --, or write a file fleet.yml'),
  });
  expect(await runFleetCommand('-n', '0', '--', 'true')).toMatchObject({ code: 2 });
  expect(await runFleetCommand('--name', 'a b', '--', 'true')).toMatchObject({ code: 2 });
  expect(await runFleetCommand('--', 'no-such-agent')).toMatchObject({
    code: 2,
    err: expect.stringContaining('on the PATH'),
  });
  await writeFile(join(terminal.cwd, 'fleet.yml'), 'agents:\n  - name: a\n    comand: b\n');
  expect(await runFleetCommand()).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^fleet\.yml:3:5: Unknown field "comand"\. Did you mean command\?/),
  });
  expect(await runFleetCommand('--file', '.')).toMatchObject({
    code: 2,
    err: expect.stringContaining('is not a regular file'),
  });
  await writeFile(join(terminal.cwd, 'large.yml'), '#'.repeat(257 * 1024));
  expect(await runFleetCommand('--file', 'large.yml')).toMatchObject({
    code: 2,
    err: expect.stringContaining('large.yml has 257 KiB; at most 256'),
  });
  expect(await runFleetCommand('-n', '2')).toMatchObject({
    code: 2,
    err: expect.stringContaining('need a command'),
  });
  expect(existsSync(join(terminal.cwd, '.genesis', 'fleet'))).toBe(false);
});
