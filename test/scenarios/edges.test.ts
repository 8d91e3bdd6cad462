import { expect, test } from 'vitest';
import { personCaller } from '../support/agent.js';
import { forEachStore, PROJECT_KEY, unwrap } from '../support/coordinator-harness.js';
import { minutes, Timeline } from './timeline.js';

const FEATURE = 'REQ-F-AUTH-001';
const EDGE = 'REQ-F-AUTH-001#design_code';

forEachStore('the edges of specifications 000 and 002', (open) => {
  async function openTimeline() {
    const harness = await open({ home: PROJECT_KEY });
    const events = () => harness.store.events(PROJECT_KEY, { after: 0, limit: 100, subject: EDGE });
    return { harness, timeline: new Timeline(harness), queries: harness.coordinator.queries, events };
  }

  // req: EDG-001, EDG-002, EDG-003, EDG-011, ROL-005
  test('one of two agents starts an edge, and the rejection of the other names the holder in the log', async () => {
    const { harness, timeline, events } = await openTimeline();
    const agentA = timeline.agent('claude-1', 'Session-1');
    await agentA.claim(EDGE, { agent_role: 'architect' });
    const refused = await harness.coordinator.claims.claimTask(PROJECT_KEY, {
      feature_id: FEATURE,
      edge: 'design→code',
      agent_id: 'claude-2',
      session_id: 'Session-2',
    });
    expect(refused).toMatchObject({
      success: false,
      reason: 'DENIED_ACTIVE_CLAIM',
      claim: null,
      current_holder: 'claude-1',
      stale: false,
    });
    expect(await events()).toMatchObject([
      {
        event_type: 'edge_started',
        feature_id: 'REQ-F-AUTH-001',
        edge: 'design_code',
        agent_id: 'claude-1',
        agent_role: 'architect',
        generation: 1,
        seq: 1,
      },
      {
        event_type: 'claim_rejected',
        feature_id: 'REQ-F-AUTH-001',
        edge: 'design_code',
        agent_id: 'claude-2',
        payload: { reason: 'DENIED_ACTIVE_CLAIM', holding_agent: 'claude-1' },
      },
    ]);
  });

  // req: EDG-005
  test('convergence releases the edge with the same event', async () => {
    const { timeline, queries, harness } = await openTimeline();
    const agentA = timeline.agent('claude-1', 'Session-1');
    await agentA.claim(EDGE);
    timeline.T(10);
    expect(await agentA.submit(EDGE, { asset: 'code' })).toMatchObject({
      accepted: true,
      work_product_ref: expect.stringMatching(/^wp-REQ-F-AUTH-001#design_code-gen1-[0-9a-f]{12}$/),
    });
    expect(await harness.eventTypesOf(EDGE)).toEqual(['edge_started', 'edge_converged']);
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, EDGE))).toMatchObject({
      phase: 'COMPLETED',
      claim: { state: 'RELEASED', track: null, sequence: null },
    });
    expect(unwrap(await queries.status(PROJECT_KEY)).claims).toEqual([]);
  });

  // req: EDG-006
  test('abandonment releases the edge, and the next agent gets the next generation', async () => {
    const { timeline, harness } = await openTimeline();
    const agentA = timeline.agent('claude-1', 'Session-1');
    const agentB = timeline.agent('claude-2', 'Session-2');
    await agentA.claim(EDGE);
    timeline.T(3);
    expect(await agentA.release(EDGE)).toEqual({ success: true, reason: 'RELEASED' });
    expect((await agentB.claim(EDGE)).claim?.generation).toBe(2);
    expect(await harness.eventTypesOf(EDGE)).toEqual(['edge_started', 'edge_released', 'edge_started']);
  });

  // req: EDG-004, EDG-008
  test('the lease of an edge lasts claim_ttl_seconds, and heartbeats prevent its expiry', async () => {
    const { timeline, harness, queries } = await openTimeline();
    const agentA = timeline.agent('claude-1', 'Session-1');
    expect((await agentA.claim(EDGE)).claim?.lease_duration_seconds).toBe(3600);
    for (const minute of [20, 40, 60]) {
      timeline.T(minute);
      expect((await agentA.renew(EDGE)).reason).toBe('RENEWED');
    }
    timeline.T(80);
    expect(await harness.coordinator.sweep()).toBe(0);
    expect(unwrap(await queries.getTaskState(PROJECT_KEY, EDGE)).readiness).toBe('claimed');
    expect(await harness.eventTypesOf(EDGE)).toEqual(['edge_started', 'heartbeat', 'heartbeat', 'heartbeat']);
  });

  // req: STL-001, STL-003, STL-009
  test('a silent holder is reported once per silence and keeps the edge until a person releases it', async () => {
    const { timeline, harness, queries, events } = await openTimeline();
    const agentA = timeline.agent('claude-1', 'Session-1');
    const agentB = timeline.agent('claude-2', 'Session-2');
    await agentA.claim(EDGE, minutes(30));

    timeline.T(29);
    expect(await harness.coordinator.sweep()).toBe(0);
    timeline.T(30);
    expect(await harness.coordinator.sweep()).toBe(1);
    timeline.T(45);
    expect(await harness.coordinator.sweep()).toBe(0);
    expect((await events()).at(-1)).toMatchObject({
      event_type: 'claim_expired',
      agent_id: 'claude-1',
      payload: { cause: 'EXPIRED', disposition: 'held', expired_at: '2026-01-04T06:30:00.000Z' },
    });

    timeline.T(600);
    expect(await agentB.claim(EDGE)).toMatchObject({
      reason: 'DENIED_ACTIVE_CLAIM',
      current_holder: 'claude-1',
      stale: true,
    });
    const { readiness, claim } = unwrap(await queries.getTaskState(PROJECT_KEY, EDGE));
    expect([readiness, claim?.state]).toEqual(['stale', 'ACTIVE']);
    expect(unwrap(await queries.status(PROJECT_KEY)).waiting).toMatchObject([
      { task_id: EDGE, readiness: 'stale' },
    ]);

    expect((await agentA.renew(EDGE)).reason).toBe('RENEWED');
    timeline.T(601);
    expect(await harness.coordinator.sweep()).toBe(0);
    timeline.T(630);
    expect(await harness.coordinator.sweep()).toBe(1);
    expect(await harness.coordinator.sweep()).toBe(0);

    const freed = await harness.coordinator.decisions.operate(
      PROJECT_KEY,
      EDGE,
      'force_release',
      { expected_generation: 1, reason: 'the machine is gone' },
      personCaller('ops@acme.com'),
    );
    expect(freed).toMatchObject({ success: true, reason: 'FORCED', readiness: 'ready', generation: 1 });
    expect((await agentB.claim(EDGE)).claim?.generation).toBe(2);
    expect(await agentA.submit(EDGE)).toMatchObject({ accepted: false, reason: 'STALE_GENERATION' });
    expect(await harness.eventTypesOf(EDGE)).toEqual([
      'edge_started',
      'claim_expired',
      'claim_rejected',
      'heartbeat',
      'claim_expired',
      'edge_released',
      'edge_started',
      'result_rejected',
    ]);
    const { generations } = unwrap(await queries.getClaimHistory(PROJECT_KEY, EDGE));
    expect(generations.map((grant) => grant.release_reason)).toEqual(['FORCED', null]);
  });

  test('the result of a silent holder is still accepted under the hold policy', async () => {
    const { timeline } = await openTimeline();
    const agentA = timeline.agent('claude-1', 'Session-1');
    await agentA.claim(EDGE, minutes(30));
    timeline.T(5000);
    expect(await agentA.submit(EDGE)).toMatchObject({ accepted: true, reason: 'ACCEPTED', late: false });
  });
});
