import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluatorReport, FILES } from '../../../test/support/workspace-files.js';
import {
  bareWorkspace,
  EDGE,
  FEATURE,
  KEY,
  namesInWorkspace,
  readOutcome,
  WorkspaceHarness,
  writeInboxCommand,
} from '../testing/workspace-harness.js';
import type { Workspace } from '../workspace.js';
import type { InboxCommand } from './command.js';
import { SERIALISER_STEPS, type SerialiserStep } from './serialiser.js';

const claim = { event_type: 'edge_claim', feature: FEATURE, edge: EDGE };
const edgeFields = { feature: FEATURE, edge: EDGE, generation: 1 };
const iteration = { event_type: 'iteration_completed', ...edgeFields, iteration: 1, status: 'iterating' };

class Crash extends Error {}

/**
 * A command whose execution crashes: the commands before it, the command, another agent's command in the same round, and
 * what is expected in the end.
 */
interface Case {
  readonly before: readonly object[];
  readonly command: object;
  readonly rival?: object;
  readonly reply: object;
  readonly edgeHistory: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  'a claim': {
    before: [],
    command: claim,
    rival: claim,
    reply: { reason: 'GRANTED', claim: { generation: 1 } },
    edgeHistory: ['edge_started a-01 1', 'claim_rejected b-01 1'],
  },
  'a heartbeat': {
    before: [claim],
    command: { event_type: 'heartbeat', ...edgeFields },
    reply: { success: true, reason: 'RENEWED', new_expiry: expect.any(String) },
    edgeHistory: ['edge_started a-01 1', 'heartbeat a-01 1'],
  },
  'a release, after which another agent is granted the edge in the same round': {
    before: [claim],
    command: { event_type: 'edge_released', ...edgeFields, reason: 'lunch' },
    rival: claim,
    reply: { success: true, reason: 'RELEASED' },
    edgeHistory: ['edge_started a-01 1', 'edge_released a-01 1', 'edge_started b-01 2'],
  },
  'a release with an error': {
    before: [claim],
    command: { event_type: 'edge_released', ...edgeFields, reason: 'ERROR', message: 'out of ideas' },
    reply: { success: true, reason: 'RELEASED' },
    edgeHistory: ['edge_started a-01 1', 'edge_released a-01 1'],
  },
  'a convergence': {
    before: [claim],
    command: { event_type: 'edge_converged', ...edgeFields, iteration: 2, result: { asset: 'code' } },
    rival: claim,
    reply: { accepted: true, reason: 'ACCEPTED', current_generation: 1, late: false, work_lost: false },
    edgeHistory: ['edge_started a-01 1', 'claim_rejected b-01 1', 'edge_converged a-01 1'],
  },
  'a reported event': {
    before: [claim],
    command: iteration,
    reply: { success: true, reason: 'APPENDED', event_id: expect.any(String) },
    edgeHistory: ['edge_started a-01 1', 'iteration_completed a-01 1'],
  },
  'a convergence that is refused and parked': {
    before: [claim, { event_type: 'edge_released', ...edgeFields }],
    command: { event_type: 'edge_converged', ...edgeFields, result: 1 },
    reply: { accepted: false, reason: 'NO_CLAIM', work_lost: true, parked: expect.any(String) },
    edgeHistory: ['edge_started a-01 1', 'edge_released a-01 1', 'result_rejected a-01 1'],
  },
};

async function crashAt(workspace: Workspace, at: SerialiserStep): Promise<void> {
  const harness = await WorkspaceHarness.open(workspace, {
    onStep: (step, command: InboxCommand) => {
      if (step === at && command.agent_id === 'a-01') throw new Crash();
    },
  });
  await expect(harness.serialiser.pass()).rejects.toThrow(Crash);
  await harness.close();
}

for (const [name, { before, command, rival, reply, edgeHistory }] of Object.entries(CASES)) {
  it.each(SERIALISER_STEPS)(
    `executes ${name} once and writes its outcome when the serialiser crashes after step %s`,
    async (step) => {
      const workspace = await bareWorkspace();
      const earlierRun = await WorkspaceHarness.open(workspace);
      for (const [at, each] of before.entries())
        await writeInboxCommand(workspace, 'a-01', `0${at}.json`, each);
      await earlierRun.serialiser.pass();
      await earlierRun.close();

      await writeInboxCommand(workspace, 'a-01', '1.json', command);
      if (rival !== undefined) await writeInboxCommand(workspace, 'b-01', '1.json', rival);
      // Crash twice at the same point: repeated crashes must not repeat the work.
      await crashAt(workspace, step);
      if (step !== 'removed') await crashAt(workspace, step);
      const harness = await WorkspaceHarness.open(workspace);
      await harness.serialiser.pass();

      const history = await harness.edgeHistory();
      // Before a refusal is recorded, the earlier refusals of its task are read. The rival's event may come first meanwhile.
      if (!edgeHistory.includes('claim_rejected b-01 1')) expect(history).toEqual(edgeHistory);
      else expect(history.toSorted()).toEqual(edgeHistory.toSorted());
      expect((await readOutcome(workspace, 'a-01', '1.json')).reply).toMatchObject(reply);
      expect(await namesInWorkspace(workspace, 'inbox', 'a-01')).toEqual([]);
      if (rival !== undefined)
        expect(await namesInWorkspace(workspace, 'outcome', 'b-01')).toEqual(['1.json']);
      const ids = (await harness.events()).map(({ event_id }) => event_id);
      expect(new Set(ids).size).toBe(ids.length);
    },
  );
}

it('keeps a convergence accepted with a warning when the serialiser crashes before the outcome', async () => {
  const workspace = await bareWorkspace();
  const earlierRun = await WorkspaceHarness.open(workspace);
  const warn = 'roles: { a: { converge_edges: [tdd] } }\nauthority: { outside_authority_action: warn }\n';
  const files = { ...FILES, 'agent_roles.yml': warn };
  expect(await earlierRun.coordinator.settings.configure(KEY, { files })).not.toHaveProperty('problem');
  const edge = { feature: 'REQ-F-A', edge: EDGE };
  await writeInboxCommand(workspace, 'a-01', '0.json', {
    event_type: 'edge_claim',
    ...edge,
    agent_role: 'a',
  });
  await earlierRun.serialiser.pass();
  await earlierRun.close();
  const done = { event_type: 'edge_converged', ...edge, generation: 1, result: 1, ...evaluatorReport() };
  await writeInboxCommand(workspace, 'a-01', '1.json', done);
  await crashAt(workspace, 'decided');
  const harness = await WorkspaceHarness.open(workspace);
  await harness.serialiser.pass();
  expect((await harness.edgeHistory()).slice(1)).toEqual([
    'edge_converged a-01 1',
    'convergence_escalated a-01 1',
  ]);
  expect((await readOutcome(workspace, 'a-01', '1.json')).reply).toMatchObject({ reason: 'ACCEPTED' });
});

it('keeps a command in the inbox while the store is unreachable, and decides it afterwards', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  await writeInboxCommand(workspace, 'a-01', '1.json', claim);
  const claimTask = harness.coordinator.claims.claimTask.bind(harness.coordinator.claims);
  harness.coordinator.claims.claimTask = async () => ({
    problem: 'UNAVAILABLE',
    detail: 'The disk is full.',
  });
  await expect(harness.serialiser.pass()).rejects.toThrow('The disk is full.');
  expect(await namesInWorkspace(workspace, 'inbox', 'a-01')).toEqual(['1.json']);
  expect(await namesInWorkspace(workspace, 'outcome', 'a-01')).toEqual([]);
  harness.coordinator.claims.claimTask = claimTask;
  expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 1 });
});

describe('a refusal without an event in the log', () => {
  const heartbeat = { event_type: 'heartbeat', ...edgeFields };

  /**
   * A workspace in which the serialiser wrote the outcome of a heartbeat and crashed before it removed the heartbeat's file.
   * A claim is then added that sorts before the heartbeat: if the heartbeat were decided again, it would renew that claim.
   */
  async function crashAfterRefusal(): Promise<Workspace> {
    const workspace = await bareWorkspace();
    await writeInboxCommand(workspace, 'a-01', '1.json', heartbeat);
    await crashAt(workspace, 'replied');
    expect((await readOutcome(workspace, 'a-01', '1.json')).reply).toMatchObject({ reason: 'NO_CLAIM' });
    await writeInboxCommand(workspace, 'a-01', '0.json', claim);
    return workspace;
  }

  async function serveOnce(workspace: Workspace): Promise<string[]> {
    const harness = await WorkspaceHarness.open(workspace);
    await harness.serialiser.pass();
    return harness.edgeHistory();
  }

  it('is not decided again after its outcome was written', async () => {
    const workspace = await crashAfterRefusal();
    const before = await readOutcome(workspace, 'a-01', '1.json');
    expect(await serveOnce(workspace)).toEqual(['edge_started a-01 1']);
    expect(await readOutcome(workspace, 'a-01', '1.json')).toEqual(before);
    expect(await namesInWorkspace(workspace, 'inbox', 'a-01')).toEqual([]);
  });

  it.each([
    [
      'of another request',
      { request_id: 'inbox-other', ok: false, reply: { problem: 'FORBIDDEN', detail: '' } },
    ],
    ['that is incomplete', '{"request_id": '],
  ])('is not read from an outcome %s', async (_, outcome) => {
    const workspace = await crashAfterRefusal();
    const text = typeof outcome === 'string' ? outcome : JSON.stringify(outcome);
    await writeFile(join(workspace.events, 'outcome', 'a-01', '1.json'), text);
    expect(await serveOnce(workspace)).toEqual(['edge_started a-01 1', 'heartbeat a-01 1']);
    expect((await readOutcome(workspace, 'a-01', '1.json')).reply).toMatchObject({ reason: 'RENEWED' });
  });
});
