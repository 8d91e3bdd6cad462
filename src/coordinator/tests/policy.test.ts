import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, P, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

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
    expect(await coordinator.settings.getPolicy(P)).toEqual({
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
    });
  });

  test('accepts stale_policy for both kinds or per kind, and keeps omitted fields', async () => {
    const { harness, coordinator } = await openWithPlan();
    const stale = async () => unwrap(await harness.coordinator.settings.getPolicy(P)).stale_policy;
    await coordinator.settings.putPolicy(P, { stale_policy: 'hold' });
    expect(await stale()).toEqual({ task: 'hold', edge: 'hold' });
    await coordinator.settings.putPolicy(P, { stale_policy: { edge: 'takeover' }, max_attempts: 2 });
    expect(await stale()).toEqual({ task: 'hold', edge: 'takeover' });
    await harness.restart();
    expect(await stale()).toEqual({ task: 'hold', edge: 'takeover' });
    expect(unwrap(await harness.coordinator.settings.getPolicy(P)).max_attempts).toBe(2);
    const wrong = await harness.coordinator.settings.putPolicy(P, { stale_policy: 'release' });
    expect(wrong).toMatchObject({ problem: 'INVALID_REQUEST' });
  });

  test('decides per kind whether an expired claim can be taken over', async () => {
    const { harness, coordinator, alpha, beta } = await openWithPlan();
    await coordinator.settings.putPolicy(P, { stale_policy: { task: 'hold', edge: 'takeover' } });
    await alpha.claims(A);
    await alpha.claims(EDGE, { lease_duration_seconds: 300 });
    harness.advance(301);
    expect(await beta.claims(A)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    expect(await beta.claims(EDGE)).toMatchObject({ reason: 'GRANTED', claim: { generation: 2 } });
  });

  // req: STL-007
  test('ends a claim after max_hold_seconds, however often it is renewed', async () => {
    const { harness, coordinator, alpha, beta } = await openWithPlan();
    await coordinator.settings.putPolicy(P, { max_hold_seconds: 400 });
    await alpha.claims(A);
    harness.advance(200);
    expect((await alpha.renews(A)).new_expiry).toBe('2026-01-04T06:06:40.000Z');
    harness.advance(200);
    expect((await alpha.renews(A)).reason).toBe('ALREADY_EXPIRED');
    expect((await beta.claims(A)).claim?.generation).toBe(2);
  });

  test('applies a change to later decisions, even in the same batch', async () => {
    const { coordinator, alpha } = await openWithPlan();
    const [, claimed] = await Promise.all([
      coordinator.settings.putPolicy(P, { claim_ttl_seconds: 77 }),
      alpha.claims(EDGE),
    ]);
    expect(claimed.claim?.lease_duration_seconds).toBe(77);
  });
});
