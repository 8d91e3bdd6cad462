import { expect, it } from 'vitest';
import {
  bareWorkspace,
  EDGE,
  FEATURE,
  readOutcome,
  WorkspaceHarness,
  writeInboxCommand,
} from '../testing/workspace-harness.js';

const edgeFields = { feature: FEATURE, edge: EDGE };
const claim = { event_type: 'edge_claim', ...edgeFields, agent_role: 'architect' };
const release = { event_type: 'edge_released', data: { ...edgeFields, reason: 'done for today' } };

async function openWithClaim() {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  let sentCount = 0;
  /** Sends one command of an agent, and returns the reply in its outcome. */
  const send = async (agentId: string, command: object) => {
    sentCount += 1;
    await writeInboxCommand(workspace, agentId, `${sentCount}.json`, command);
    await harness.serialiser.pass();
    return (await readOutcome(workspace, agentId, `${sentCount}.json`)).reply;
  };
  const { claim: granted } = await send('a-01', claim);
  return { harness, send, granted };
}

it('a holder that claims its edge again gets its claim back, and others do not', async () => {
  const { harness, send, granted } = await openWithClaim();
  const before = await harness.edgeHistory();
  expect(await send('a-01', claim)).toMatchObject({
    reason: 'GRANTED',
    resumed: true,
    claim: { id: granted.id },
  });
  expect(await harness.edgeHistory()).toEqual(before);
  expect(await send('b-01', claim)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM', current_holder: 'a-01' });
});

it('a release without a generation releases only a claim of the agent that sends it', async () => {
  const { harness, send } = await openWithClaim();
  const missingGeneration = {
    problem: 'INVALID_REQUEST',
    detail: expect.stringMatching(/^generation: missing\./),
  };
  expect(await send('b-01', release)).toMatchObject(missingGeneration);
  expect(await send('a-01', { ...release, session_id: 'sess-other' })).toMatchObject(missingGeneration);
  expect(await send('a-01', release)).toMatchObject({ success: true, reason: 'RELEASED' });
  expect(await harness.edgeHistory()).toEqual(['edge_started a-01 1', 'edge_released a-01 1']);
  expect(await send('b-01', claim)).toMatchObject({ reason: 'GRANTED', claim: { generation: 2 } });
  expect(await send('a-01', release)).toMatchObject(missingGeneration);
});

it.each([
  ['a heartbeat without a generation', { event_type: 'heartbeat', ...edgeFields }, 'generation: missing.'],
  [
    'a result without a generation',
    { event_type: 'edge_converged', ...edgeFields, result: 1 },
    'generation: missing.',
  ],
  ['drafts without a generation', { event_type: 'edge_converged', ...edgeFields }, 'generation: missing.'],
  [
    'the name of the API for a generation',
    { event_type: 'heartbeat', ...edgeFields, expected_generation: 1 },
    'expected_generation: not a field of heartbeat. Write generation.',
  ],
  [
    'the role of an agent as role',
    { ...claim, role: 'architect' },
    'role: not a field of edge_claim. Write agent_role.',
  ],
  [
    'a typo',
    { event_type: 'edge_converged', ...edgeFields, generation: 1, evaluator: {} },
    'evaluator: not a field of edge_converged. Did you mean evaluators?',
  ],
  [
    'a field that no command has',
    { ...claim, colour: 'red' },
    'colour: not a field of edge_claim. Its fields are feature, edge, ',
  ],
])('refuses %s with advice', async (_, command, detail) => {
  const { send } = await openWithClaim();
  expect(await send('a-01', command)).toMatchObject({
    problem: 'INVALID_REQUEST',
    detail: expect.stringContaining(detail),
  });
});
