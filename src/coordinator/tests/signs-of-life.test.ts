import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';

const EDGE = 'REQ-F-AUTH-001#design_code';
const TASK = 'A-001-core';

forEachStore('signs of life', (open) => {
  async function openWithClaims() {
    const harness = await open({ limits: { max_result_size_bytes: 100 } });
    await harness.plan(planOf(TASK));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(EDGE);
    await alpha.claim(TASK);
    const iterate = (request_id?: string) =>
      harness.coordinator.holder.appendEvent(PROJECT_KEY, {
        event_type: 'iteration_completed',
        agent_id: 'alpha',
        feature_id: 'REQ-F-AUTH-001',
        edge: 'design_code',
        session_id: 's1',
        generation: 1,
        payload: { iteration: 1, status: 'iterating' },
        ...(request_id === undefined ? {} : { request_id }),
      });
    const stateOf = async (subject: string) =>
      unwrap(await harness.coordinator.queries.getTaskState(PROJECT_KEY, subject));
    return { harness, alpha, iterate, stateOf };
  }

  // req: STL-008
  test('are notes, iterations and refused submissions: a holder that keeps working is never reported as stale', async () => {
    const { harness, alpha, iterate, stateOf } = await openWithClaims();
    const actions = [
      () => alpha.notes(EDGE, 'half done'),
      () => iterate(),
      () => alpha.submit(EDGE, 'x'.repeat(200)),
      () => alpha.notes(EDGE, 'nearly done'),
    ];
    for (const act of actions) {
      harness.advance(1700);
      await act();
      await harness.coordinator.sweep();
      expect(await stateOf(EDGE)).toMatchObject({ readiness: 'claimed' });
    }
    expect(await harness.eventTypesOf(EDGE)).not.toContain('claim_expired');
    harness.advance(1801);
    expect(await stateOf(EDGE)).toMatchObject({ readiness: 'stale' });
    await iterate();
    expect(await stateOf(EDGE)).toMatchObject({ readiness: 'claimed' });
  });

  test('do not extend the lease: without a renewal it ends as if there were none', async () => {
    const { harness, alpha, stateOf } = await openWithClaims();
    const { claim } = await stateOf(TASK);
    harness.advance(200);
    await alpha.notes(TASK, 'half done');
    await alpha.submit(TASK, 'x'.repeat(200));
    expect((await stateOf(TASK)).claim?.expires_at).toBe(claim?.expires_at);
    harness.advance(101);
    await alpha.notes(TASK, 'too late');
    expect(await alpha.renew(TASK)).toMatchObject({ reason: 'ALREADY_EXPIRED' });
    expect(await harness.eventTypesOf(TASK)).not.toContain('CLAIM_RESUMED');
  });

  test('are recorded as a heartbeat without the id of the request, so that a repeated request finds its own event', async () => {
    const { harness, iterate } = await openWithClaims();
    harness.advance(10);
    const first = unwrap(await iterate('r1'));
    expect(unwrap(await iterate('r1'))).toEqual(first);
    const ofRequest = (await harness.events()).filter(({ request_id }) => request_id === 'r1');
    expect(ofRequest.map(({ event_id }) => event_id)).toEqual([first.event_id]);
    const types = await harness.eventTypesOf(EDGE);
    expect(types).toEqual(['edge_started', 'heartbeat', 'iteration_completed']);
  });
});
