import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { onProgram } from '../stores/testing/on-database.js';
import { missingProgram } from '../stores/testing/program.js';
import { type AnyJson, TENANT_URL, TestServer } from './testing/test-server.js';
import { webhookNoticeSender } from './webhooks/notice-sender.js';
import { PUBLIC_AND_PRIVATE_TARGETS } from './webhooks/post-webhook.js';
import { openReceiver } from './webhooks/testing/webhook-receiver.js';

const FEATURE = 'REQ-F-A-001';
const EDGE = 'intent_requirements';
const SUBJECT = `${FEATURE}#${EDGE}`;
const EDGES_PROJECT_URL = `${TENANT_URL}/projects/edges`;
const SCOPE = { project_id: 'edges' };
const EDGE_FILE = `edge: ${EDGE}
checklist:
  - {name: done, type: agent, criterion: it is done, required: true}
  - {name: look, type: human, criterion: a person agrees, required: true}
convergence: {rule: all_required_checks_pass}
`;
const FEATURE_FILE = `feature: ${FEATURE}\ntitle: A\nvector_type: feature\nprofile: standard\nstatus: pending\n`;

type Headers = Record<string, string>;

/** A server with keys, and an edge whose first candidate waits for a person. */
async function openGate(testServer: TestServer, files: Record<string, string> = {}) {
  const makeKey = async (role: string, by: Headers = {}): Promise<Headers> => {
    const { body } = await testServer.request('POST', `${TENANT_URL}/keys`, { role }, by);
    return { authorization: `Bearer ${body.token}`, 'x-genesis-tenant': 'acme' };
  };
  const operator = await makeKey('operator');
  const [agent, reviewer, admin] = [
    await makeKey('agent', operator),
    await makeKey('reviewer', operator),
    await makeKey('admin', operator),
  ];
  const config = { [`graph/edges/${EDGE}.yml`]: EDGE_FILE, [`features/active/${FEATURE}.yml`]: FEATURE_FILE };
  const init = await testServer.request(
    'POST',
    '/api/init',
    { ...SCOPE, files: { ...config, ...files } },
    admin,
  );
  expect(init.body.success).toBe(true);
  const claimant = { agent_id: 'alpha', session_id: 's1' };
  const send = (path: string, body: object, as: Headers) =>
    testServer.request('POST', `${EDGES_PROJECT_URL}${path}`, body, as);
  const claim = (more = {}) =>
    send('/claims', { feature_id: FEATURE, edge: EDGE, ...claimant, ...more }, agent);
  const { id: claim_id, generation } = (await claim()).body.claim;
  const evaluators = {
    passed: 1,
    failed: 0,
    skipped: 0,
    total: 1,
    details: [{ name: 'done', result: 'pass' }],
  };
  const submit = (result_data: string, iteration: number) =>
    send(
      '/results',
      { task_id: SUBJECT, session_id: 's1', claim_id, generation, result_data, iteration, evaluators },
      agent,
    );
  expect((await submit('first', 1)).body.reason).toBe('ESCALATED');
  const pendingReview = async (): Promise<AnyJson> =>
    (await testServer.request('GET', '/api/review?project_id=edges', undefined, reviewer)).body.reviews[0];
  const candidateOf = ({ task_id, generation, iteration, candidate_sha256 }: AnyJson) => ({
    ...{ task_id, generation, iteration, candidate_sha256 },
  });
  const decide = async (candidate: object, decision: string, as = reviewer, more = {}) =>
    send('/reviews', { ...candidate, decision, ...more }, as);
  const taskPhase = async () =>
    (
      await testServer.request(
        'GET',
        `${EDGES_PROJECT_URL}/tasks/${encodeURIComponent(SUBJECT)}`,
        undefined,
        agent,
      )
    ).body.phase;
  const readEvents = async (): Promise<AnyJson[]> =>
    (await testServer.request('GET', `${EDGES_PROJECT_URL}/events`, undefined, agent)).body.events;
  const first = candidateOf(await pendingReview());
  return {
    agent,
    reviewer,
    send,
    claim,
    submit,
    pendingReview,
    candidateOf,
    decide,
    taskPhase,
    readEvents,
    first,
  };
}

describe('a review gate over HTTP', () => {
  test('that is approved makes exactly this candidate the result', async () => {
    const { decide, first, taskPhase } = await openGate(await TestServer.forTest());
    expect((await decide(first, 'APPROVED')).body).toMatchObject({ success: true, reason: 'APPROVED' });
    expect(await taskPhase()).toBe('COMPLETED');
  });

  test('that is rejected holds the work', async () => {
    const { decide, first, claim, taskPhase } = await openGate(await TestServer.forTest());
    expect((await decide(first, 'REJECTED')).body).toMatchObject({ success: true });
    expect((await claim()).body.reason).toBe('DENIED_HELD');
    expect(await taskPhase()).toBe('OPEN');
  });

  test('that requests changes gives the comment to the next iteration', async () => {
    const { decide, first, claim, submit, pendingReview } = await openGate(await TestServer.forTest());
    await decide(first, 'CHANGES_REQUESTED', undefined, { comment: 'say who logs in' });
    const { body } = await claim({ resume: true, with_briefing: true });
    expect(JSON.stringify(body.briefing)).toContain('say who logs in');
    expect((await submit('second', 2)).body.reason).toBe('ESCALATED');
    expect(await pendingReview()).toMatchObject({ iteration: 2 });
  });

  test('accepts one decision and its repetition by the same reviewer, and no other decision', async () => {
    const { decide, first } = await openGate(await TestServer.forTest());
    await decide(first, 'APPROVED');
    expect((await decide(first, 'APPROVED')).body).toMatchObject({ success: true });
    const second = await decide(first, 'REJECTED');
    expect([second.status, second.body.reason]).toEqual([409, 'ALREADY_DECIDED']);
  });

  test('refuses a decision on an older candidate', async () => {
    const { decide, first, submit, pendingReview, candidateOf } = await openGate(await TestServer.forTest());
    await decide(first, 'CHANGES_REQUESTED');
    await submit('second', 2);
    for (const decision of ['APPROVED', 'REJECTED', 'CHANGES_REQUESTED']) {
      const late = await decide(first, decision);
      expect([late.status, late.body.reason]).toEqual([409, 'STALE_REVIEW']);
    }
    const second = candidateOf(await pendingReview());
    const mixed = await decide({ ...second, candidate_sha256: first.candidate_sha256 }, 'APPROVED');
    expect([mixed.status, mixed.body.reason]).toEqual([409, 'STALE_REVIEW']);
    expect((await decide(second, 'APPROVED')).body.success).toBe(true);
  });

  test('cannot be passed by a model with a review, a role, an event or a result', async () => {
    const { agent, decide, first, claim, send, submit, taskPhase, readEvents } = await openGate(
      await TestServer.forTest(),
    );
    expect((await decide(first, 'APPROVED', agent)).status).toBe(403);
    expect((await claim({ agent_role: 'human' })).status).toBe(403);
    const payload = { ...first, decision: 'APPROVED', reviewer: 'rita' };
    for (const [event_type, status] of [
      ['review_completed', 400],
      ['edge_converged', 400],
      ['review_notified', 400],
      ['escalation_timeout', 400],
      ['escalation_resolved', 403],
    ] as const) {
      const body = { event_type, task_id: SUBJECT, agent_id: 'alpha', session_id: 's1', payload };
      expect([event_type, (await send('/events', body, agent)).status]).toEqual([event_type, status]);
    }
    expect((await submit('first', 1)).body.reason).toBe('ESCALATED');
    expect(await taskPhase()).toBe('OPEN');
    expect((await readEvents()).filter(({ event_type }) => event_type === 'review_completed')).toEqual([]);
  });
});

await onProgram('openssl', missingProgram('openssl'), () => {
  test('a review is sent to the webhook of the project, signed, and recorded', async () => {
    const receiver = await openReceiver();
    const secret = 'a-secret-of-16-characters';
    const targets = { ...PUBLIC_AND_PRIVATE_TARGETS, ca: receiver.ca };
    const testServer = await TestServer.forTest({ notice_sender: webhookNoticeSender([secret], targets) });
    const { first, readEvents, pendingReview } = await openGate(testServer, {
      'engine.yml': `review: { webhook_url: "${receiver.url}" }\n`,
    });
    await receiver.untilReceived(1);
    const [{ headers, body }] = receiver.received as [(typeof receiver.received)[number]];
    const [time = '', signature] = String(headers['genesis-signature']).split(',');
    const signedText = `${time.slice('t='.length)}.${body}`;
    expect(signature).toBe(`v1=${createHmac('sha256', secret).update(signedText).digest('hex')}`);
    const notice = JSON.parse(body);
    expect(notice).toMatchObject({
      ...first,
      ...{ kind: 'requested', tenant_id: 'acme', project_id: 'edges' },
      next: `gen review --feature ${FEATURE} --edge ${EDGE}`,
    });
    expect(headers['genesis-notice-id']).toBe(notice.notice_id);
    expect(body).not.toContain('rvl_');
    const noticeEvents = async () =>
      (await readEvents()).filter(({ event_type }) => event_type === 'review_notified');
    await expect
      .poll(noticeEvents)
      .toMatchObject([
        { subject: SUBJECT, payload: { notice_id: notice.notice_id, host: `localhost:${receiver.port}` } },
      ]);
    expect(await pendingReview()).toMatchObject({ overdue: false, notice_failed: null });
  }, 30_000);
});
