import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, P, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const A = 'A-001-core';

forEachStore('denials', (open) => {
  async function openWithPlan() {
    const harness = await open();
    await harness.plan(planOf(A));
    const [alpha, beta] = [new HarnessAgent(harness, 'alpha', 's1'), new HarnessAgent(harness, 'beta', 's2')];
    return { harness, alpha, beta };
  }

  test('of an agent that keeps retrying are recorded once per generation', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claims(A);
    for (let turn = 0; turn < 20; turn += 1) await beta.claims(A);
    await Promise.all(Array.from({ length: 20 }, () => beta.claims(A)));
    expect(await harness.eventTypesOf(A)).toEqual(['CLAIM_ACQUIRED', 'CLAIM_REJECTED']);
    await alpha.releases(A);
    await alpha.claims(A);
    await beta.claims(A);
    await harness.restart();
    await beta.claims(A);
    const rejected = (await harness.events()).filter((event) => event.event_type === 'CLAIM_REJECTED');
    expect(rejected.map((event) => [event.generation, event.agent_id, event.seq])).toEqual([
      [1, 'beta', undefined],
      [2, 'beta', undefined],
    ]);
  });

  test('of a zombie’s submissions are recorded once per result', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claims(A);
    harness.advance(301);
    await beta.claims(A);
    const first = await alpha.submits(A, 'mine');
    harness.advance(5);
    expect(await alpha.submits(A, 'mine')).toEqual(first);
    await alpha.submits(A, 'mine, better');
    const rejected = (await harness.events()).filter((event) => event.event_type === 'RESULT_REJECTED');
    expect(rejected).toHaveLength(2);
    expect(rejected[0]?.payload).toMatchObject({
      submitted_generation: 1,
      current_generation: 2,
      rejection_reason: 'STALE_GENERATION',
      work_lost: true,
      parked: true,
      result_data: 'mine',
    });
  });

  test('are counted for the agent that was denied', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claims(A);
    await beta.claims(A);
    const { agents } = unwrap(await harness.coordinator.queries.agents(P));
    expect(agents).toMatchObject([
      { agent_id: 'alpha', claims: [A], denied: 0 },
      { agent_id: 'beta', claims: [], denied: 1 },
    ]);
  });

  test('park at most sixteen results of one agent', async () => {
    const { harness, alpha, beta } = await openWithPlan();
    await alpha.claims(A);
    harness.advance(301);
    await beta.claims(A);
    for (let turn = 0; turn < 16; turn += 1) expect((await alpha.submits(A, turn)).parked).not.toBeNull();
    expect(await alpha.submits(A, 16)).toMatchObject({
      reason: 'STALE_GENERATION',
      work_lost: true,
      parked: null,
    });
    expect((await alpha.submits(A, 3)).parked).not.toBeNull();
    expect(unwrap(await harness.coordinator.queries.getTaskState(P, A)).parked).toBe(16);
  });
});
