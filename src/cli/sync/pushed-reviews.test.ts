import { describe, expect, it } from 'vitest';
import { personCaller } from '../../../test/support/agent.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { TestServer } from '../../server/testing/test-server.js';
import { runGen } from '../testing/terminal.js';
import { createWorkspace, EDGE, KEY, withOfflineCoordinator } from './testing.js';

const KEYS_URL = '/api/tenants/default/keys';
const EVENTS_URL = '/api/tenants/default/projects/shop/events';
const SUBJECT = EDGE.task_id;
const HISTORY_URL = `/api/tenants/default/projects/shop/tasks/${encodeURIComponent(SUBJECT)}/history`;
const GATE = { iteration: 1, candidate_sha256: sha256Hex('"draft"') };

/** A workspace in which rita has reviewed ada's work offline. */
async function createReviewedWork(): Promise<string> {
  const cwd = await temporaryFolder();
  await withOfflineCoordinator(await createWorkspace(cwd), async (offline) => {
    await offline.claims.claimTask(KEY, { ...EDGE, agent_id: 'ada', session_id: 's-ada' });
    await offline.holder.suspendClaim(KEY, { ...EDGE, session_id: 's-ada', expected_generation: 1, ...GATE });
    const review = { ...EDGE, generation: 1, ...GATE, decision: 'CHANGES_REQUESTED' };
    await offline.decisions.recordReview(KEY, review, personCaller('rita'));
  });
  return cwd;
}

async function serveWithKeys() {
  const testServer = await TestServer.forTest();
  const admin = (await testServer.post(KEYS_URL, { role: 'admin' })).body;
  const headers = { authorization: `Bearer ${admin.token}` };
  const agent = (await testServer.request('POST', KEYS_URL, { role: 'agent' }, headers)).body;
  // Only an admin creates the project.
  await testServer.request('PUT', '/api/tenants/default/projects/shop/plan', { tracks: {} }, headers);
  const readEvents = async () =>
    (await testServer.request('GET', EVENTS_URL, undefined, headers)).body.events;
  return { testServer, admin, agent, headers, readEvents };
}

describe('gen sync push', () => {
  it('with a key that may review records the reviewer and that key', async () => {
    const cwd = await createReviewedWork();
    const { testServer, admin, headers, readEvents } = await serveWithKeys();
    const push = await runGen(
      { cwd, env: { GENESIS_TOKEN: admin.token } },
      'sync',
      'push',
      '--remote',
      testServer.url,
    );
    expect(push, push.err + push.out).toMatchObject({ code: 0 });
    const review = (await readEvents()).find(
      ({ event_type }: { event_type: string }) => event_type === 'review_completed',
    );
    expect(review).toMatchObject({ payload: { reviewer: 'rita', pushed_by: expect.any(String) } });
    expect(review.payload.pushed_by).toContain(admin.key_id);
    expect(review.agent_id).not.toBe('rita');
    const env = { GENESIS_TOKEN: admin.token, GENESIS_URL: testServer.url };
    const shown = await runGen(
      { cwd: await temporaryFolder(), env, columns: 300 },
      ...['task', 'history', SUBJECT, '--project', 'shop'],
    );
    expect(shown.out, shown.err).toContain(
      `CHANGES_REQUESTED by rita (according to ${review.payload.pushed_by}, who pushed it) at`,
    );
    const history = await testServer.request('GET', HISTORY_URL, undefined, headers);
    expect(history.body.reviews).toMatchObject([{ reviewer: 'rita', pushed_by: review.payload.pushed_by }]);
  });

  it('with a key that may not review pushes the work but no review', async () => {
    const cwd = await createReviewedWork();
    const { testServer, agent, readEvents } = await serveWithKeys();
    const env = { GENESIS_TOKEN: agent.token };
    const push = await runGen({ cwd, env }, 'sync', 'push', '--remote', testServer.url, '--json');
    expect(push.code, push.err).toBe(1);
    expect(JSON.parse(push.out)).toMatchObject({
      sent: 2,
      refused: [{ event_type: 'review_completed', reason: 'FORBIDDEN' }],
    });
    const types = (await readEvents()).map(({ event_type }: { event_type: string }) => event_type);
    expect(types).toContain('claim_suspended');
    expect(types).not.toContain('review_completed');
  });
});
