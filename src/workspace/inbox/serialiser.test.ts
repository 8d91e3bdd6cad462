import { mkdir, rm, writeFile } from 'node:fs/promises';
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

const claim = { event_type: 'edge_claim', feature: FEATURE, edge: EDGE, agent_role: 'architect' };
const edgeFields = { feature: FEATURE, edge: EDGE, generation: 1 };

// req: EVT-018, INB-001, INB-002, INB-003, INB-005, INB-012
it('serves an edge from its claim to its convergence as specification 002 describes', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  await writeInboxCommand(workspace, 'a-01', '1.json', claim);
  await writeInboxCommand(workspace, 'b-01', '1.json', {
    ...claim,
    timestamp: '2026-02-21T00:00:00Z',
    agent_id: 'b-01',
  });
  expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 1, DENIED_ACTIVE_CLAIM: 1 });
  expect(await readOutcome(workspace, 'a-01', '1.json')).toMatchObject({
    event_type: 'edge_claim',
    ok: true,
    reply: { reason: 'GRANTED', claim: { generation: 1, session_id: 'inbox.a-01' } },
  });
  expect(await readOutcome(workspace, 'b-01', '1.json')).toMatchObject({
    ok: false,
    reply: {
      reason: 'DENIED_ACTIVE_CLAIM',
      current_holder: 'a-01',
      next: expect.stringContaining('Claim another task'),
    },
  });
  await writeInboxCommand(workspace, 'a-01', '2.json', { event_type: 'heartbeat', ...edgeFields });
  await writeInboxCommand(workspace, 'a-01', '3.json', {
    event_type: 'iteration_completed',
    ...edgeFields,
    iteration: 1,
    status: 'iterating',
    delta: 2,
  });
  await writeInboxCommand(workspace, 'a-01', '4.json', {
    event_type: 'edge_converged',
    ...edgeFields,
    iteration: 2,
    result: { asset: 'code' },
  });
  await writeInboxCommand(workspace, 'b-01', '2.json', claim);
  expect((await harness.serialiser.pass()).outcomes).toEqual({
    RENEWED: 1,
    APPENDED: 1,
    ACCEPTED: 1,
    DENIED_ACTIVE_CLAIM: 1,
  });
  const refused = 'claim_rejected b-01 1';
  const edgeHistory = await harness.edgeHistory();
  expect(edgeHistory.filter((line) => line === refused)).toHaveLength(2);
  expect(edgeHistory.filter((line) => line !== refused)).toEqual([
    'edge_started a-01 1',
    'heartbeat a-01 1',
    'iteration_completed a-01 1',
    'edge_converged a-01 1',
  ]);
  expect(await namesInWorkspace(workspace, 'inbox', 'a-01')).toEqual([]);
  const { agents } = (await harness.coordinator.queries.agents({
    tenant_id: 'default',
    project_id: 'shop',
  })) as never;
  expect(agents).toMatchObject([
    { agent_id: 'a-01', role: 'architect', claims: [], completed: 1, last_activity: expect.any(String) },
    { agent_id: 'b-01', role: 'architect', denied: 2 },
  ]);
});

// req: EDG-007
it('lets only the holder renew, release or converge, whatever session a command names', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  await writeInboxCommand(workspace, 'a-01', '1.json', claim);
  await harness.serialiser.pass();
  const commands = [
    { event_type: 'heartbeat', ...edgeFields },
    { event_type: 'edge_released', ...edgeFields, reason: 'I want it' },
    { event_type: 'edge_converged', ...edgeFields, result: 1 },
  ];
  for (const [at, command] of commands.entries()) {
    await writeInboxCommand(workspace, 'b-01', `${at}-own.json`, command);
    await writeInboxCommand(workspace, 'b-01', `${at}-theirs.json`, { ...command, session_id: 'inbox.a-01' });
    await writeInboxCommand(workspace, 'b-01', `${at}-other.json`, { ...command, session_id: 'sess-1' });
  }
  expect((await harness.serialiser.pass()).outcomes).toEqual({
    SESSION_MISMATCH: 3,
    FORBIDDEN: 3,
    CLAIM_ID_REQUIRED: 3,
  });
  expect(await harness.edgeHistory()).toEqual(['edge_started a-01 1', 'result_rejected inbox.b-01 1']);
});

it('grants an edge to one of many agents, and names the holder to the others', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const agents = Array.from({ length: 20 }, (_, index) => `agent-${index + 10}`);
  for (const agentId of agents) await writeInboxCommand(workspace, agentId, 'claim.json', claim);
  expect((await harness.serialiser.pass()).outcomes).toEqual({ GRANTED: 1, DENIED_ACTIVE_CLAIM: 19 });
  const replies = await Promise.all(agents.map((agentId) => readOutcome(workspace, agentId, 'claim.json')));
  const holder = replies.find(({ ok }) => ok)?.reply.claim.agent_id;
  expect(replies.filter(({ ok }) => !ok).map(({ reply }) => reply.current_holder)).toEqual(
    Array(19).fill(holder),
  );
  const edgeHistory = await harness.edgeHistory();
  expect(edgeHistory.filter((line) => line.startsWith('edge_started'))).toEqual([`edge_started ${holder} 1`]);
  expect(edgeHistory.filter((line) => line.startsWith('claim_rejected'))).toHaveLength(19);
});

// req: INB-006, WSP-006
it('continues from the log alone when inboxes, outcomes, drafts and scratch files are gone after a crash', async () => {
  const workspace = await bareWorkspace();
  const crashed = await WorkspaceHarness.open(workspace);
  await writeInboxCommand(workspace, 'a-01', '1.json', claim);
  await crashed.serialiser.pass();
  await writeInboxCommand(workspace, 'b-01', '1.json', claim);
  for (const kind of ['drafts', 'scratch']) {
    await mkdir(workspace.path('agents', 'a-01', kind), { recursive: true });
    await writeFile(workspace.path('agents', 'a-01', kind, 'unfinished.md'), 'unfinished');
  }
  await crashed.close();
  for (const folder of ['events/inbox', 'events/outcome', 'agents'])
    await rm(workspace.path(folder), { recursive: true });
  const harness = await WorkspaceHarness.open(workspace);
  await writeInboxCommand(workspace, 'a-01', '2.json', {
    event_type: 'edge_converged',
    ...edgeFields,
    result: 'done',
  });
  expect((await harness.serialiser.pass()).outcomes).toEqual({ ACCEPTED: 1 });
  expect(await harness.edgeHistory()).toEqual(['edge_started a-01 1', 'edge_converged a-01 1']);
});

// req: INB-004
it('starts each round with another agent, so that no name has an advantage', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const agents = ['a', 'b', 'c'];
  for (const agentId of agents) {
    for (const feature of ['F-1', 'F-2', 'F-3']) {
      await writeInboxCommand(workspace, agentId, `${feature}.json`, {
        event_type: 'edge_claim',
        feature,
        edge: EDGE,
      });
    }
  }
  await harness.serialiser.pass();
  const started = (await harness.edgeHistory()).filter((line) => line.startsWith('edge_started'));
  expect(started).toEqual(['edge_started a 1', 'edge_started b 1', 'edge_started c 1']);
});
