import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { EventEnvelope } from '../src/core/events/envelope.js';
import { startServer } from '../src/server/server.js';
import { openMemoryStore } from '../src/stores/memory/memory-store.js';
import { watchInboxes } from '../src/workspace/inbox/watch.js';
import { bareWorkspace, drop, KEY, outcome, Site } from '../src/workspace/testing/site.js';

const run = promisify(execFile);
const ABOUT = { feature: 'REQ-F-AUTH-001', edge: 'design→code' };

test('an agent in bash carries an edge to its end, and a second one is told that it is taken', async () => {
  const workspace = await bareWorkspace();
  const site = await Site.open(workspace);
  const stopping = new AbortController();
  const watching = watchInboxes({
    events: workspace.events,
    serialiser: site.serialiser,
    signal: stopping.signal,
    warn: (sentence) => expect.unreachable(sentence),
  });
  const agent = (GENESIS_AGENT: string) =>
    run('bash', ['examples/inbox-bash/agent.sh', 'REQ-F-AUTH-001', 'design_code'], {
      env: { ...process.env, GENESIS_AGENT, GENESIS_WORKSPACE: workspace.folder },
    });
  expect((await agent('one')).stdout).toBe('REQ-F-AUTH-001 design_code generation 1: ACCEPTED\n');
  await expect(agent('two')).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('not ours') });
  stopping.abort();
  await watching;
  expect(await site.story()).toEqual([
    'edge_started one 1',
    'heartbeat one 1',
    'iteration_completed one 1',
    'edge_converged one 1',
    'claim_rejected two 1',
  ]);
});

/** All but what is made up anew each time (ids, times, sessions) and the address that only HTTP has. */
function told(events: readonly EventEnvelope[]): object[] {
  return events.map(({ event_type, subject, agent_id, agent_role, generation, seq, payload }) => {
    const { expires_at: _, result_id: __, metadata: ___, record, ...rest } = payload;
    return {
      event_type,
      subject: subject?.replace(/^~session.*/, '~session'),
      agent_id,
      agent_role,
      generation,
      seq,
      rest,
      opens: record !== undefined,
    };
  });
}

test('the flow of seed 002 ends in the same log through the inbox and through HTTP', async () => {
  const steps: [string, Record<string, unknown>][] = [
    ['a-01', { event_type: 'edge_claim', agent_role: 'architect' }],
    ['b-01', { event_type: 'edge_claim', agent_role: 'architect' }],
    ['b-01', { event_type: 'edge_released', generation: 1 }],
    ['a-01', { event_type: 'heartbeat', generation: 1 }],
    [
      'a-01',
      { event_type: 'iteration_completed', generation: 1, iteration: 1, status: 'iterating', delta: 1 },
    ],
    ['a-01', { event_type: 'edge_released', generation: 1 }],
    ['b-01', { event_type: 'edge_claim', agent_role: 'architect' }],
    ['a-01', { event_type: 'edge_converged', generation: 1, result: { asset: 'late' } }],
    ['b-01', { event_type: 'edge_converged', generation: 2, iteration: 2, result: { asset: 'code' } }],
  ];
  const workspace = await bareWorkspace();
  const site = await Site.open(workspace);
  const reasons: string[] = [];
  for (const [at, [agent_id, command]] of steps.entries()) {
    await drop(workspace, agent_id, `${at}.json`, { ...ABOUT, ...command });
    await site.serialiser.pass();
    reasons.push((await outcome(workspace, agent_id, `${at}.json`)).reply.reason);
  }

  const store = openMemoryStore();
  const server = await startServer({ store, port: 0 });
  onTestFinished(() => server.stop());
  const base = `${server.url}/api/tenants/${KEY.tenant_id}/projects/${KEY.project_id}`;
  const post = async (path: string, body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return ((await reply.json()) as { reason: string }).reason;
  };
  const over: string[] = [];
  for (const [agent_id, { event_type, agent_role, generation, result, ...rest }] of steps) {
    const session_id = `sess-${agent_id}`;
    const handle = { task_id: 'REQ-F-AUTH-001#design→code', session_id };
    const edge = { feature_id: ABOUT.feature, edge: ABOUT.edge, agent_id, session_id };
    const bodies: Record<string, [string, object]> = {
      edge_claim: ['/claims', { ...edge, agent_role }],
      heartbeat: ['/claims/renew', { ...handle, expected_generation: generation }],
      edge_released: ['/claims/release', { ...handle, expected_generation: generation }],
      edge_converged: ['/results', { ...handle, generation, result_data: result, ...rest }],
      iteration_completed: ['/events', { ...edge, event_type, generation, payload: rest }],
    };
    over.push(await post(...(bodies[event_type as string] as [string, object])));
  }
  expect(over).toEqual(reasons);
  expect(reasons).toEqual([
    'GRANTED',
    'DENIED_ACTIVE_CLAIM',
    'SESSION_MISMATCH',
    'RENEWED',
    'APPENDED',
    'RELEASED',
    'GRANTED',
    'STALE_GENERATION',
    'ACCEPTED',
  ]);
  expect(told(await store.events(KEY, { after: 0, limit: 1000 }))).toEqual(told(await site.events()));
});
