import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import type { Caller } from '../authentication/caller.js';
import { OPEN_CALLER } from '../authentication/caller.js';

const callerOf = (principal: string, user_id: string | null = null): Caller => ({
  ...OPEN_CALLER,
  principal,
  user_id,
  may_administer: false,
});

forEachStore('a claim that its session requests again', (open) => {
  async function openWithAgent() {
    const harness = await open();
    await harness.plan(planOf('A-001-x', 'B-001-x', 'C-001-x'));
    return { harness, alpha: new HarnessAgent(harness, 'alpha', 's1') };
  }

  test('is returned by claim and next, with the same handle and without an event', async () => {
    const { harness, alpha } = await openWithAgent();
    const granted = await alpha.next({ lease_duration_seconds: 60 });
    const before = (await harness.events()).length;
    const again = await alpha.next({ resume: true });
    expect(again).toMatchObject({ success: true, reason: 'GRANTED', resumed: true, claim: granted.claim });
    expect(again.briefing?.handle).toEqual(granted.briefing?.handle);
    expect(await alpha.claim(granted.claim?.task_id ?? '', { resume: true })).toMatchObject({
      reason: 'GRANTED',
      resumed: true,
      claim: granted.claim,
    });
    expect((await harness.events()).length).toBe(before);
    expect(await alpha.submit('A-001-x')).toMatchObject({ reason: 'ACCEPTED' });
  });

  test('is returned before any newer claim, and new work follows when the session holds none', async () => {
    const { harness, alpha } = await openWithAgent();
    await alpha.claim('B-001-x');
    harness.advance(1);
    await alpha.claim('A-001-x');
    expect((await alpha.next({ resume: true })).claim?.task_id).toBe('B-001-x');
    await alpha.submit('B-001-x');
    expect((await alpha.next({ resume: true })).claim?.task_id).toBe('A-001-x');
    await alpha.submit('A-001-x');
    const fresh = await alpha.next({ resume: true });
    expect(fresh).toMatchObject({ claim: { task_id: 'C-001-x', generation: 1 } });
    expect(fresh).not.toHaveProperty('resumed');
  });

  test('is not returned to another session, after its lease has ended, or without `resume: true`', async () => {
    const { harness, alpha } = await openWithAgent();
    await alpha.claim('A-001-x', { lease_duration_seconds: 60 });
    const other = new HarnessAgent(harness, 'alpha', 's2');
    expect(await other.claim('B-001-x')).toMatchObject({ reason: 'GRANTED' });
    expect(await other.claim('A-001-x', { resume: true })).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    expect(await alpha.claim('A-001-x')).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    harness.advance(61);
    expect(await alpha.claim('A-001-x', { resume: true })).toMatchObject({ claim: { generation: 2 } });
  });

  test('is returned only to the credential that claimed it', async () => {
    const { harness } = await openWithAgent();
    const [opener, colleague] = [callerOf('key-1', 'user'), callerOf('key-2', 'user')];
    const claim = async (task_id: string, caller: Caller) =>
      unwrap(
        await harness.coordinator.claims.claimTask(
          PROJECT_KEY,
          { task_id, agent_id: 'alpha', session_id: 's1', resume: true },
          caller,
        ),
      );
    expect(await claim('A-001-x', opener)).toMatchObject({ reason: 'GRANTED' });
    expect(await claim('B-001-x', colleague)).toMatchObject({ reason: 'GRANTED' });
    expect(await claim('A-001-x', colleague)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    expect(await claim('B-001-x', opener)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    expect(await claim('A-001-x', opener)).toMatchObject({ resumed: true });
    expect(await claim('B-001-x', colleague)).toMatchObject({ resumed: true });
    const admin = { ...callerOf('admin'), may_administer: true };
    expect(await claim('A-001-x', admin)).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
  });

  test('is not returned to another agent in the same session', async () => {
    const { harness, alpha } = await openWithAgent();
    await alpha.claim('A-001-x');
    const other = new HarnessAgent(harness, 'beta', 's1');
    expect(await other.next({ resume: true })).toMatchObject({ claim: { task_id: 'B-001-x' } });
    expect(await other.claim('A-001-x', { resume: true })).toMatchObject({ reason: 'DENIED_ACTIVE_CLAIM' });
    expect(await alpha.next({ resume: true })).toMatchObject({ resumed: true });
  });

  test('is returned in an all_or_nothing batch, also when the batch is sent again', async () => {
    const { harness, alpha } = await openWithAgent();
    await alpha.claim('A-001-x');
    const replies = await alpha.claimBatch(['A-001-x', 'B-001-x'], { resume: true }, 'all_or_nothing');
    expect(replies).toMatchObject([
      { reason: 'GRANTED', resumed: true, claim: { generation: 1 } },
      { reason: 'GRANTED', claim: { generation: 1 } },
    ]);
    const who = { agent_id: 'alpha', session_id: 's1', resume: true };
    const claims = ['A-001-x', 'C-001-x'].map((task_id) => ({ task_id, ...who }));
    const batch = { mode: 'all_or_nothing', claims, request_id: 'r1' };
    const first = unwrap(await harness.coordinator.claims.batchClaim(PROJECT_KEY, batch));
    expect(first.results).toMatchObject([{ resumed: true }, { reason: 'GRANTED' }]);
    expect(await harness.coordinator.claims.batchClaim(PROJECT_KEY, batch)).toEqual(first);
    await alpha.release('A-001-x');
    expect(await harness.coordinator.claims.batchClaim(PROJECT_KEY, batch)).toMatchObject({
      results: [
        { reason: 'DENIED_BATCH', next: expect.stringContaining('Claim A-001-x again') },
        { success: true },
      ],
    });
  });
});
