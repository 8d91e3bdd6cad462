import { expect, test } from 'vitest';
import { Agent } from '../../test/support/agent.js';
import { answered, forEachStore, P, planOf } from '../../test/support/house.js';

const A = 'A-001-core';
const EDGE = 'REQ-F-1#design_code';

forEachStore('the policy', (open) => {
  async function begin() {
    const house = await open();
    await house.plan(planOf(A));
    const [alpha, beta] = [new Agent(house, 'alpha', 's1'), new Agent(house, 'beta', 's2')];
    return { house, coordinator: house.coordinator, alpha, beta };
  }

  test('has the defaults of the contract', async () => {
    const { coordinator } = await begin();
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
      compliance_profile: null,
    });
  });

  test('takes stale_policy as one word for both kinds, or by kind, and keeps what is not named', async () => {
    const { house, coordinator } = await begin();
    const stale = async () => answered(await house.coordinator.settings.getPolicy(P)).stale_policy;
    await coordinator.settings.putPolicy(P, { stale_policy: 'hold' });
    expect(await stale()).toEqual({ task: 'hold', edge: 'hold' });
    await coordinator.settings.putPolicy(P, { stale_policy: { edge: 'takeover' }, max_attempts: 2 });
    expect(await stale()).toEqual({ task: 'hold', edge: 'takeover' });
    await house.restart();
    expect(await stale()).toEqual({ task: 'hold', edge: 'takeover' });
    expect(answered(await house.coordinator.settings.getPolicy(P)).max_attempts).toBe(2);
    const wrong = await house.coordinator.settings.putPolicy(P, { stale_policy: 'release' });
    expect(wrong).toMatchObject({ problem: 'INVALID_REQUEST' });
  });

  test('decides by kind whether an expired claim can be taken over', async () => {
    const { house, coordinator, alpha, beta } = await begin();
    await coordinator.settings.putPolicy(P, { stale_policy: { task: 'hold', edge: 'takeover' } });
    await alpha.claims(A);
    await alpha.claims(EDGE, { lease_duration_seconds: 300 });
    house.advance(301);
    expect(await beta.claims(A)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    expect(await beta.claims(EDGE)).toMatchObject({ reason: 'GRANTED', claim: { generation: 2 } });
  });

  test('max_hold_seconds ends a claim however often it is renewed', async () => {
    const { house, coordinator, alpha, beta } = await begin();
    await coordinator.settings.putPolicy(P, { max_hold_seconds: 400 });
    await alpha.claims(A);
    house.advance(200);
    expect((await alpha.renews(A)).new_expiry).toBe('2026-01-04T06:06:40.000Z');
    house.advance(200);
    expect((await alpha.renews(A)).reason).toBe('ALREADY_EXPIRED');
    expect((await beta.claims(A)).claim?.generation).toBe(2);
  });

  test('changes apply to what is decided after them, whatever the batch', async () => {
    const { coordinator, alpha } = await begin();
    const [, claimed] = await Promise.all([
      coordinator.settings.putPolicy(P, { claim_ttl_seconds: 77 }),
      alpha.claims(EDGE),
    ]);
    expect(claimed.claim?.lease_duration_seconds).toBe(77);
  });
});
