import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import {
  chmod,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { skipGroup } from '../../stores/testing/on-database.js';
import {
  bareWorkspace,
  EDGE,
  FEATURE,
  namesInWorkspace,
  readOutcome,
  WorkspaceHarness,
  writeInboxCommand,
} from '../testing/workspace-harness.js';
import type { Workspace } from '../workspace.js';

const claim = { event_type: 'edge_claim', feature: FEATURE, edge: EDGE };
const CLAIM = JSON.stringify(claim);

async function openWorkspaceWithInbox(): Promise<{
  workspace: Workspace;
  harness: WorkspaceHarness;
  inbox: string;
}> {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const inbox = workspace.path('events', 'inbox', 'eve');
  await mkdir(inbox);
  return { workspace, harness, inbox };
}

/** The reason why a file was quarantined; asserts that the file was kept and left the inbox. */
async function quarantineReasonOf(workspace: Workspace, name: string): Promise<string> {
  const reason = JSON.parse(
    await readFile(workspace.path('events', 'broken', 'eve', `${name}.reason.json`), 'utf8'),
  );
  expect(await namesInWorkspace(workspace, 'broken', 'eve')).toContain(name);
  expect(await namesInWorkspace(workspace, 'inbox', 'eve')).toEqual([]);
  expect(reason.at).toMatch(/Z$/);
  return reason.reason;
}

it.each([
  ['%2e%2e%2fetc.json'],
  ['a b.json'],
  ['ünïcode.json'],
  ['claim.txt'],
  ['-rf.json'],
  ['claim.json.reason.json'],
  [`${'n'.repeat(240)}.json`],
  ['line\nbreak.json'],
])('quarantines a file with the name %j, and never opens that name', async (name) => {
  const { workspace, harness, inbox } = await openWorkspaceWithInbox();
  await writeFile(join(inbox, name), CLAIM);
  await writeInboxCommand(workspace, 'good', '1.json', claim);
  expect((await harness.serialiser.pass()).toJSON()).toMatchObject({ broken: 1, outcomes: { GRANTED: 1 } });
  const [kept = ''] = await namesInWorkspace(workspace, 'broken', 'eve');
  expect(kept).toMatch(/^unnamed-[0-9a-f]{16}$/);
  expect(await quarantineReasonOf(workspace, kept)).toContain('name of a command');
  expect(await readFile(workspace.path('events', 'broken', 'eve', kept), 'utf8')).toBe(CLAIM);
});

it('quarantines a file whose name is not valid UTF-8', async () => {
  const { workspace, harness, inbox } = await openWorkspaceWithInbox();
  await writeFile(
    Buffer.concat([Buffer.from(`${inbox}/`), Buffer.from([0xff, 0xfe]), Buffer.from('.json')]),
    CLAIM,
  );
  expect((await harness.serialiser.pass()).broken).toBe(1);
  expect(await namesInWorkspace(workspace, 'inbox', 'eve')).toEqual([]);
});

it('ignores temporary and hidden files', async () => {
  const { workspace, harness, inbox } = await openWorkspaceWithInbox();
  for (const name of ['.1.json', '1.json.tmp', '..json']) await writeFile(join(inbox, name), CLAIM);
  expect((await harness.serialiser.pass()).toJSON()).toEqual({
    commands: 0,
    outcomes: {},
    broken: 0,
    expired: 0,
  });
  expect(await namesInWorkspace(workspace, 'inbox', 'eve')).toEqual(['..json', '.1.json', '1.json.tmp']);
});

const INVALID_ENTRIES: readonly [string, (path: string, workspace: Workspace) => Promise<unknown>, RegExp][] =
  [
    [
      'a link to a file',
      (path, { root }) => plantFile(join(root, 'secret.json')).then((at) => symlink(at, path)),
      /is a link/,
    ],
    ['a link to nothing', (path) => symlink('/nowhere', path), /is a link/],
    [
      'a hard link to a file',
      (path, { root }) => plantFile(join(root, 'secret.json')).then((at) => link(at, path)),
      /hard link/,
    ],
    ['a folder', (path) => mkdir(path), /not a regular file/],
    ['a pipe', async (path) => execFileSync('mkfifo', [path]), /not a regular file/],
    [
      'a sparse file of one gigabyte',
      (path) => writeFile(path, '').then(() => truncate(path, 1024 ** 3)),
      /more than 64 KiB/,
    ],
    ['invalid JSON', (path) => writeFile(path, '{"event_type": "edge_cl'), /not a single JSON object/],
    ['a list', (path) => writeFile(path, '[1]'), /not a single JSON object/],
    ['an empty file', (path) => writeFile(path, ''), /not a single JSON object/],
    ['a command without a type', (path) => writeFile(path, '{}'), /no event_type/],
    [
      'an event type that only the serialiser writes',
      (path) => writeFile(path, '{"event_type":"edge_started"}'),
      /not a command/,
    ],
    ['the type __proto__', (path) => writeFile(path, '{"event_type":"__proto__"}'), /not a command/],
    [
      'a command without an edge',
      (path) => writeFile(path, '{"event_type":"heartbeat","feature":"F"}'),
      /feature and edge/,
    ],
    [
      'a command of another agent',
      (path) => writeFile(path, JSON.stringify({ ...claim, agent_id: 'good' })),
      /another agent/,
    ],
  ];

async function plantFile(path: string): Promise<string> {
  await writeFile(path, CLAIM);
  return path;
}

it.each(INVALID_ENTRIES)(
  'quarantines %s with the reason, writes an outcome, and serves the others',
  async (_, plant, reasonPattern) => {
    const { workspace, harness, inbox } = await openWorkspaceWithInbox();
    await plant(join(inbox, 'x.json'), workspace);
    await writeInboxCommand(workspace, 'good', '1.json', claim);
    expect((await harness.serialiser.pass()).toJSON()).toMatchObject({ broken: 1, outcomes: { GRANTED: 1 } });
    expect(await quarantineReasonOf(workspace, 'x.json')).toMatch(reasonPattern);
    expect(await readOutcome(workspace, 'eve', 'x.json')).toMatchObject({
      ok: false,
      reply: { problem: 'INVALID_REQUEST', detail: expect.stringContaining('events/broken/eve') },
    });
  },
);

it('keeps both of two broken files with the same name', async () => {
  const { workspace, harness } = await openWorkspaceWithInbox();
  await writeInboxCommand(workspace, 'eve', 'x.json', 'one');
  await harness.serialiser.pass();
  await writeInboxCommand(workspace, 'eve', 'x.json', 'two');
  await harness.serialiser.pass();
  const kept = await namesInWorkspace(workspace, 'broken', 'eve');
  expect(kept).toEqual(['x.json', 'x.json.reason.json', 'x.json~1', 'x.json~1.reason.json']);
  expect(await readFile(workspace.path('events', 'broken', 'eve', 'x.json'), 'utf8')).toBe('one');
});

it('does not follow an inbox folder that is a link or becomes one while it is served', async () => {
  const { workspace, harness } = await openWorkspaceWithInbox();
  await writeInboxCommand(workspace, 'bob', '1.json', claim);
  await symlink(workspace.path('events', 'inbox', 'bob'), workspace.path('events', 'inbox', 'mallory'));
  await mkdir(workspace.path('events', 'inbox', '.hidden'));
  await mkdir(workspace.path('events', 'inbox', 'no agent'));
  expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 1 });
  expect((await readOutcome(workspace, 'bob', '1.json')).reply.claim.agent_id).toBe('bob');
  expect(await namesInWorkspace(workspace, 'outcome')).toEqual(['bob']);
  expect(harness.warnings).toEqual([
    expect.stringContaining('"no agent" is not a valid agent id'),
    expect.stringMatching(/mallory is not a folder/),
  ]);

  await writeInboxCommand(workspace, 'eve', '1.json', { ...claim, feature: 'F-2' });
  await writeInboxCommand(workspace, 'bob', '2.json', { ...claim, feature: 'F-3' });
  const swappingHarness = await (async () => {
    await harness.close();
    return WorkspaceHarness.open(workspace, {
      onStep: (step, command) => {
        if (step !== 'decided' || command.agent_id !== 'eve') return;
        const inbox = workspace.path('events', 'inbox');
        execFileSync('mv', [join(inbox, 'eve'), join(inbox, 'eve-before')]);
        execFileSync('ln', ['-s', join(inbox, 'bob'), join(inbox, 'eve')]);
      },
    });
  })();
  await writeInboxCommand(workspace, 'bob', '1.json', { ...claim, feature: 'F-4' });
  await swappingHarness.serialiser.pass();
  // eve's own file was removed from her folder, which the serialiser had open when it was moved. The file of the same name
  // behind the link was served only for bob.
  expect(await namesInWorkspace(workspace, 'inbox', 'eve-before')).toEqual([]);
  expect((await readOutcome(workspace, 'bob', '1.json')).reply.claim.agent_id).toBe('bob');
});

it('blocks only the agent whose outcome cannot be written', async () => {
  const { workspace, harness } = await openWorkspaceWithInbox();
  await mkdir(workspace.path('events', 'outcome', 'eve', '1.json', 'in-the-way'), { recursive: true });
  await writeInboxCommand(workspace, 'eve', '1.json', { ...claim, feature: 'F-1' });
  await writeInboxCommand(workspace, 'good', '1.json', { ...claim, feature: 'F-2' });
  await writeInboxCommand(workspace, 'good', '2.json', { ...claim, feature: 'F-3' });
  expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 2 });
  expect(harness.warnings).toEqual([expect.stringMatching(/^The inbox of eve is blocked: /)]);
  await rename(workspace.path('events', 'outcome', 'eve', '1.json'), workspace.path('events', 'away'));
  expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 1 });
  expect((await harness.edgeHistory()).filter((line) => line.includes('eve'))).toEqual([
    'edge_started eve 1',
  ]);
});

it.each(['outcome', 'broken'])(
  'blocks the agent whose folder under %s is a link, and no other agent',
  async (folder) => {
    const { workspace, harness, inbox } = await openWorkspaceWithInbox();
    await mkdir(workspace.path('events', folder));
    await symlink(workspace.path('features'), workspace.path('events', folder, 'eve'));
    await mkdir(workspace.path('features'));
    await writeFile(join(inbox, '1.json'), folder === 'broken' ? 'no command' : CLAIM);
    await writeInboxCommand(workspace, 'good', '1.json', { ...claim, feature: 'F-2' });
    expect((await harness.serialiser.pass()).outcomes).toMatchObject({ GRANTED: expect.any(Number) });
    expect((await readOutcome(workspace, 'good', '1.json')).ok).toBe(true);
    expect(harness.warnings).toEqual([expect.stringMatching(/^The inbox of eve is blocked: .*not a folder/)]);
    expect(await readdir(workspace.path('features'))).toEqual([]);
  },
);

if (process.getuid?.() === 0) skipGroup('an inaccessible folder', 'root can enter every folder');
else {
  it.each([
    ['inbox', ['events', 'inbox', 'eve']],
    ['drafts', ['agents', 'eve', 'drafts']],
  ])('blocks only the agent whose %s folder is inaccessible', async (_, folder) => {
    const { workspace, harness } = await openWorkspaceWithInbox();
    await writeInboxCommand(workspace, 'eve', '1.json', {
      ...claim,
      event_type: 'edge_converged',
      generation: 1,
    });
    await writeInboxCommand(workspace, 'good', '1.json', claim);
    await mkdir(workspace.path(...folder), { recursive: true });
    await chmod(workspace.path(...folder), 0);
    expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 1 });
    expect(harness.warnings).toEqual([expect.stringMatching(/^The inbox of eve is blocked: EACCES/)]);
    await chmod(workspace.path(...folder), 0o700);
  });
}

it('sweeps expired claims and stops on the signal while an agent never stops sending', async () => {
  const workspace = await bareWorkspace();
  await mkdir(workspace.path('events', 'inbox', 'eve'));
  let sentCount = 0;
  const send = () => {
    sentCount += 1;
    const folder = workspace.path('events', 'inbox', 'eve');
    writeFileSync(join(folder, `${String(sentCount).padStart(6, '0')}.json`), CLAIM);
  };
  const stopController = new AbortController();
  const harness = await WorkspaceHarness.open(workspace, { onStep: (step) => step === 'replied' && send() });
  let sweepCount = 0;
  const sweep = harness.coordinator.sweep.bind(harness.coordinator);
  harness.coordinator.sweep = async () => {
    sweepCount += 1;
    if (sweepCount === 3) stopController.abort();
    return sweep();
  };
  send();
  await harness.serialiser.pass(stopController.signal);
  expect(sweepCount).toBe(3);
  expect(await namesInWorkspace(workspace, 'outcome', 'eve')).toEqual(['000001.json', '000002.json']);
});

it('refuses unknown fields of a command by name', async () => {
  const { workspace, harness } = await openWorkspaceWithInbox();
  await writeInboxCommand(workspace, 'eve', '1.json', { ...claim, generation: 7 });
  await writeInboxCommand(workspace, 'eve', '2.json', { ...claim, lease_duration_seconds: -1 });
  await writeInboxCommand(
    workspace,
    'eve',
    '3.json',
    `{"event_type":"edge_claim","feature":"F","edge":"e","__proto__":{"a":1}}`,
  );
  await writeInboxCommand(workspace, 'eve', '4.json', {
    event_type: 'iteration_completed',
    iteration: 'one',
  });
  expect((await harness.serialiser.pass()).outcomes).toEqual({ INVALID_REQUEST: 3, INVALID_EVENT: 1 });
  expect((await readOutcome(workspace, 'eve', '1.json')).reply.detail).toContain('generation');
});
