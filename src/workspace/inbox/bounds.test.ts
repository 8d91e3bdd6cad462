import { writeFileSync } from 'node:fs';
import { mkdir, symlink, unlink, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import {
  bareWorkspace,
  EDGE,
  FEATURE,
  namesInWorkspace,
  readOutcome,
  WorkspaceHarness,
  writeInboxCommand,
} from '../testing/workspace-harness.js';
import type { InboxFiles } from './files.js';
import { nodeInboxFiles } from './node-files.js';
import { OUTCOMES_MAX } from './outcomes.js';
import { QUARANTINE_MAX } from './quarantine.js';

const claim = { event_type: 'edge_claim', feature: FEATURE, edge: EDGE };

it('keeps the newest outcomes of an agent and removes the oldest', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const folder = workspace.path('events', 'outcome', 'a-01');
  await mkdir(folder, { recursive: true });
  const oldNames = Array.from(
    { length: OUTCOMES_MAX + 100 },
    (_, index) => `old-${String(index).padStart(5, '0')}.json`,
  );
  for (const name of oldNames) writeFileSync(`${folder}/${name}`, '{}');
  await writeInboxCommand(workspace, 'a-01', 'new.json', claim);
  await harness.serialiser.pass();
  const names = await namesInWorkspace(workspace, 'outcome', 'a-01');
  expect(names).toHaveLength(OUTCOMES_MAX);
  expect(names).toContain('new.json');
  expect(names).not.toContain(oldNames[0]);
  expect(names).toContain(oldNames.at(-1));
});

it('loses no command when an agent removes its outcomes or replaces one by a link', async () => {
  const workspace = await bareWorkspace();
  const folder = workspace.path('events', 'outcome', 'a-01');
  await mkdir(folder, { recursive: true });
  for (let at = 0; at < OUTCOMES_MAX + 200; at += 1) writeFileSync(`${folder}/${at}.json`, '{}');
  await symlink('/nowhere', `${folder}/link.json`);
  let listCount = 0;
  const removingFiles: InboxFiles = {
    ...nodeInboxFiles,
    async makeFolder(path) {
      const folderHandle = await nodeInboxFiles.makeFolder(path);
      const names = folderHandle.names.bind(folderHandle);
      folderHandle.names = async () => {
        const listedNames = await names();
        listCount += 1;
        await unlink(`${folder}/${listCount}.json`);
        return listedNames;
      };
      return folderHandle;
    },
  };
  const harness = await WorkspaceHarness.open(workspace, { files: removingFiles });
  await writeInboxCommand(workspace, 'a-01', 'new.json', claim);
  expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 1 });
  expect(harness.warnings).toEqual([]);
  expect(listCount).toBeGreaterThan(1);
  expect((await namesInWorkspace(workspace, 'outcome', 'a-01')).length).toBeLessThanOrEqual(OUTCOMES_MAX);
});

it('serves every agent in turn while many agents never stop sending', async () => {
  const workspace = await bareWorkspace();
  const agents = Array.from({ length: 502 }, (_, index) => `a-${String(index).padStart(3, '0')}`);
  const turnsByAgent = new Map(agents.map((agentId) => [agentId, 0]));
  const stopController = new AbortController();
  const harness = await WorkspaceHarness.open(workspace, {
    onStep: (step, { agent_id }) => {
      if (step !== 'replied') return;
      const turns = (turnsByAgent.get(agent_id) as number) + 1;
      turnsByAgent.set(agent_id, turns);
      writeFileSync(workspace.path('events', 'inbox', agent_id, `${turns}.json`), JSON.stringify(claim));
      // Once any agent has its second turn, every agent must have had its first.
      if (turns === 2) stopController.abort();
    },
  });
  for (const agentId of agents) await writeInboxCommand(workspace, agentId, '0.json', claim);
  await harness.serialiser.pass(stopController.signal);
  expect(Math.min(...turnsByAgent.values())).toBe(1);
});

it.each([
  [QUARANTINE_MAX, '.json'],
  [2 * QUARANTINE_MAX, '.json.reason.json'],
])(
  'blocks an agent with too many broken files until a person empties the folder: %i %s',
  async (count, ending) => {
    const workspace = await bareWorkspace();
    const harness = await WorkspaceHarness.open(workspace);
    const folder = workspace.path('events', 'broken', 'eve');
    await mkdir(folder, { recursive: true });
    for (let at = 0; at < count; at += 1) writeFileSync(`${folder}/${at}${ending}`, '');
    await writeInboxCommand(workspace, 'eve', '1.json', 'no command');
    await writeInboxCommand(workspace, 'eve', '2.json', { ...claim, feature: 'F-2' });
    await writeInboxCommand(workspace, 'good', '1.json', claim);
    expect((await harness.serialiser.pass()).toJSON()).toMatchObject({ outcomes: { GRANTED: 1 }, broken: 0 });
    expect(await namesInWorkspace(workspace, 'inbox', 'eve')).toEqual(['1.json', '2.json']);
    expect(harness.warnings).toEqual([expect.stringContaining('is full')]);
  },
);

it('submits the drafts of an agent as its result, and promotes them into the project', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  await writeInboxCommand(workspace, 'a-01', '1.json', claim);
  await writeInboxCommand(workspace, 'a-01', '2.json', {
    event_type: 'edge_converged',
    feature: FEATURE,
    edge: EDGE,
    generation: 1,
  });
  expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 1, NO_DRAFTS: 1 });
  expect((await readOutcome(workspace, 'a-01', '2.json')).reply.next).toContain('drafts folder');
  const drafts = workspace.path('agents', 'a-01', 'drafts', 'REQ-F-AUTH-001+u', 'design_code', 'src');
  await mkdir(drafts, { recursive: true });
  await writeFile(`${drafts}/auth.ts`, 'export {};\n');
  await writeInboxCommand(workspace, 'a-01', '3.json', {
    event_type: 'edge_converged',
    feature: FEATURE,
    edge: EDGE,
    generation: 1,
  });
  expect((await harness.serialiser.pass()).outcomes).toEqual({ ACCEPTED: 1 });
  expect(await namesInWorkspace(workspace, '..', '..', 'src')).toEqual(['auth.ts']);
});
