import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const A = 'A-001-core';
const EDGE = 'REQ-F-1#design_code';

forEachStore('the policy', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A));
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    return { harness, coordinator: harness.coordinator, alpha, beta };
  }

  test('has the defaults of the contract', async () => {
    const { coordinator } = await openWithPlan();
    expect(await coordinator.settings.getPolicy(PROJECT_KEY)).toEqual({
      stale_policy: { task: 'takeover', edge: 'hold' },
      late_submit: 'accept',
      max_hold_seconds: null,
      stale_threshold_seconds: 1800,
      claim_ttl_seconds: 3600,
      sweep_interval_seconds: 15,
      suspend_max_seconds: 1_209_600,
      max_attempts: 10,
      max_agents_per_track: null,
      task_proposals: 'review',
      compliance_profile: null,
      evidence: 'reported',
    });
  });

  test('accepts stale_policy for both kinds or per kind, and keeps omitted fields', async () => {
    const { harness, coordinator } = await openWithPlan();
    const stalePolicyNow = async () =>
      unwrap(await harness.coordinator.settings.getPolicy(PROJECT_KEY)).stale_policy;
    await coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'hold' });
    expect(await stalePolicyNow()).toEqual({ task: 'hold', edge: 'hold' });
    await coordinator.settings.putPolicy(PROJECT_KEY, {
      stale_policy: { edge: 'takeover' },
      max_attempts: 2,
    });
    expect(await stalePolicyNow()).toEqual({ task: 'hold', edge: 'takeover' });
    await harness.restart();
    expect(await stalePolicyNow()).toEqual({ task: 'hold', edge: 'takeover' });
    expect(unwrap(await harness.coordinator.settings.getPolicy(PROJECT_KEY)).max_attempts).toBe(2);
    const wrong = await harness.coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'release' });
    expect(wrong).toMatchObject({ problem: 'INVALID_REQUEST' });
  });

  test('takes max_agents_per_track for all tracks or by track, and a refusal names track and value', async () => {
    const harness = await open();
    await harness.plan(planOf('A-001-x', 'A-002-x', 'B-001-x', 'B-002-x'));
    const { settings } = harness.coordinator;
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    const maxAgents = async (max_agents_per_track: unknown) =>
      unwrap(await settings.putPolicy(PROJECT_KEY, { max_agents_per_track })).max_agents_per_track;
    expect(await maxAgents(3)).toBe(3);
    expect(await maxAgents({ A: 1, C: 5 })).toEqual({ A: 1, C: 5 });
    expect(await maxAgents({ C: null, D: 2 })).toEqual({ A: 1, D: 2 });
    await alpha.claim('A-001-x');
    await alpha.claim('B-001-x');
    const refused = await beta.claim('A-002-x');
    expect(refused).toMatchObject({ reason: 'DENIED_LIMIT', limit: 'max_agents_per_track', limit_value: 1 });
    expect(refused).toMatchObject({ next: expect.stringContaining('max_agents_per_track (1 in track A)') });
    expect((await beta.claim('B-002-x')).reason).toBe('GRANTED');
    expect(await maxAgents({ A: null, D: null })).toBe(null);
    expect((await beta.claim('A-002-x')).reason).toBe('GRANTED');
    for (const [wrong, bound] of [
      [0, '>=1'],
      [10_001, '<=10000'],
      [{ A: 0 }, '>=1'],
      [{ a: 1 }, ''],
      ['many', '1 to 10000'],
    ] as const) {
      const fault = await settings.putPolicy(PROJECT_KEY, { max_agents_per_track: wrong });
      expect(fault).toMatchObject({ problem: 'INVALID_REQUEST', detail: expect.stringContaining(bound) });
    }
  });

  test('limits at most 100 tracks by name, however many changes name them', async () => {
    const { coordinator } = await openWithPlan();
    const letters = [...'ABCDEFGHIJ'];
    const tracks = letters.flatMap((first) => letters.map((second) => [`${first}${second}`, 1] as const));
    const putAgentsPerTrack = (max_agents_per_track: object) =>
      coordinator.settings.putPolicy(PROJECT_KEY, { max_agents_per_track });
    unwrap(await putAgentsPerTrack(Object.fromEntries(tracks)));
    const refused = await putAgentsPerTrack({ Z: 1 });
    expect(refused).toMatchObject({
      problem: 'INVALID_REQUEST',
      detail: expect.stringContaining('100 tracks'),
    });
    expect(unwrap(await putAgentsPerTrack({ AA: null, Z: 1 })).max_agents_per_track).toHaveProperty('Z', 1);
  });

  test('decides per kind whether an expired claim can be taken over', async () => {
    const { harness, coordinator, alpha, beta } = await openWithPlan();
    await coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: { task: 'hold', edge: 'takeover' } });
    await alpha.claim(A);
    await alpha.claim(EDGE, { lease_duration_seconds: 300 });
    harness.advance(301);
    expect(await beta.claim(A)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    expect(await beta.claim(EDGE)).toMatchObject({ reason: 'GRANTED', claim: { generation: 2 } });
  });

  // req: STL-007
  test('ends a claim after max_hold_seconds, however often it is renewed', async () => {
    const { harness, coordinator, alpha, beta } = await openWithPlan();
    await coordinator.settings.putPolicy(PROJECT_KEY, { max_hold_seconds: 400 });
    await alpha.claim(A);
    harness.advance(200);
    expect((await alpha.renew(A)).new_expiry).toBe('2026-01-04T06:06:40.000Z');
    harness.advance(200);
    expect((await alpha.renew(A)).reason).toBe('ALREADY_EXPIRED');
    expect((await beta.claim(A)).claim?.generation).toBe(2);
  });

  test('applies a change to later decisions, even in the same batch', async () => {
    const { coordinator, alpha } = await openWithPlan();
    const [, claimed] = await Promise.all([
      coordinator.settings.putPolicy(PROJECT_KEY, { claim_ttl_seconds: 77 }),
      alpha.claim(EDGE),
    ]);
    expect(claimed.claim?.lease_duration_seconds).toBe(77);
  });
});
