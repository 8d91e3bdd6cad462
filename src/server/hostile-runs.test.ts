import { describe, expect, test } from 'vitest';
import { MEGABYTE, nested, PROTO } from '../../test/support/bad-bodies.js';
import { featureFile } from '../../test/support/workspace-files.js';
import { NO_COST } from '../core/engine/check-outcome.js';
import { type AnyJson, TestServer } from './testing/test-server.js';
import { PUBLIC_TARGETS, postWebhook } from './webhooks/post-webhook.js';

const FEATURE = 'REQ-F-A';
const SUBJECT = `${FEATURE}#design_code`;
const EDGE = { feature_id: FEATURE, edge: 'design_code' };
const SHA = 'a'.repeat(64);
const UNKNOWN_RUN = '0199c1de-0000-7000-8000-000000000001';
const FILES = {
  'engine.yml': 'construct: { type: command, command: [make] }\n',
  'graph/edges/design_code.yml': `
edge: "design→code"
checklist:
  - { name: compiles, type: deterministic, criterion: it compiles, required: true, command: make }
  - { name: reads_well, type: agent, criterion: it reads well, required: true }
convergence: { rule: all_required_checks_pass }
`,
  [`features/active/${FEATURE}.yml`]: featureFile(FEATURE),
};

type Headers = Record<string, string>;

/** Two tenants with a project `shop` each, and a second project `bank` in the first. */
async function openTenants() {
  const testServer = await TestServer.forTest();
  const makeKey = async (tenant: string, role: string, by: Headers = {}): Promise<Headers> => {
    const { body } = await testServer.request('POST', `/api/tenants/${tenant}/keys`, { role }, by);
    return { authorization: `Bearer ${body.token}`, 'x-genesis-tenant': tenant };
  };
  const operator = await makeKey('acme', 'operator');
  const acme = {
    admin: await makeKey('acme', 'admin', operator),
    agent: await makeKey('acme', 'agent', operator),
    other: await makeKey('acme', 'agent', operator),
    reviewer: await makeKey('acme', 'reviewer', operator),
    runner: await makeKey('acme', 'runner', operator),
    viewer: await makeKey('acme', 'viewer', operator),
  };
  const rival = {
    admin: await makeKey('rival', 'admin', operator),
    agent: await makeKey('rival', 'agent', operator),
  };
  const post = (path: string, body: unknown, as: Headers) => testServer.request('POST', path, body, as);
  const get = (path: string, as: Headers) => testServer.request('GET', path, undefined, as);
  const init = async (project_id: string, as: Headers) =>
    expect((await post('/api/init', { project_id, files: FILES }, as)).status).toBe(200);
  await init('shop', acme.admin);
  await init('bank', acme.admin);
  await init('shop', rival.admin);
  const iterate = (as: Headers, more: object = {}) =>
    post('/api/iterate', { project_id: 'shop', ...EDGE, ...more }, as);
  const append = (as: Headers, event_type: string, payload: object, more: object = {}) =>
    post(
      '/api/tenants/acme/projects/shop/events',
      { event_type, task_id: SUBJECT, agent_id: 'mallory', session_id: 's-m', payload, ...more },
      as,
    );
  const runOf = async (run_id: string): Promise<AnyJson> =>
    (await get(`/api/runs/${run_id}?project_id=shop`, acme.admin)).body.run;
  const claim = async (as: Headers, agent_id: string, session_id: string) => {
    const { body } = await post(
      '/api/tenants/acme/projects/shop/claims',
      { task_id: SUBJECT, agent_id, session_id },
      as,
    );
    expect(body).toMatchObject({ success: true });
    return { agent_id, session_id, generation: body.claim.generation, claim_id: body.claim.id };
  };
  return { testServer, acme, rival, post, get, iterate, append, runOf, claim };
}

const runStarted = (run_id: string) => ({
  ...{ run_id, workflow_type: 'STANDARD', machine: { bucket: '', key: SHA, version: SHA } },
  ...{ machine_sha256: SHA, config_sha256: SHA },
});
const step = { step: 'construct_candidate', iteration: 1, input_sha256: SHA };
const stepCompleted = (run_id: string) => ({ run_id, ...step, attempt: 1, duration_ms: 1, output: {} });
const runEnded = (run_id: string, status = 'FAILED') => ({
  ...{ run_id, status, reason: null, says: 'mine', iterations: 1, spent: NO_COST },
});

describe('an agent', () => {
  test('cannot write the events of a run whose edge it does not hold', async () => {
    const { acme, iterate, append, runOf, claim } = await openTenants();
    const { run_id } = (await iterate(acme.agent)).body.run;
    const forge = async (more: object) => [
      (await append(acme.other, 'run_started', runStarted(run_id), more)).status,
      (await append(acme.other, 'run_step_completed', stepCompleted(run_id), more)).status,
      (await append(acme.other, 'run_ended', runEnded(run_id), more)).status,
    ];
    expect(await forge({ generation: 0 })).toEqual([409, 409, 409]);
    expect(await runOf(run_id)).toMatchObject({ status: 'REQUESTED', steps: [] });
    const executor = await claim(acme.agent, 'engine', 's-engine');
    expect(await forge({ generation: 1 })).toEqual([409, 409, 409]);
    const { claim_id: _, ...withoutId } = executor;
    expect(await forge(withoutId)).toEqual([409, 409, 409]);
    expect((await append(acme.agent, 'run_started', runStarted(run_id), executor)).status).toBe(200);
    expect(await runOf(run_id)).toMatchObject({ status: 'RUNNING', agent_id: 'engine' });
  });

  test('cannot write what only the coordinator or a person records', async () => {
    const { acme, iterate, append, runOf } = await openTenants();
    const { run_id } = (await iterate(acme.agent)).body.run;
    for (const [type, payload] of [
      ['run_requested', { run_id: UNKNOWN_RUN, retry_of: null }],
      ['escalation_timeout', {}],
      ['review_notified', {}],
      ['review_notice_failed', {}],
      ['EVIDENCE_RECORDED', {}],
      ['run_ended', runEnded(run_id, 'CANCELLED')],
    ] as const) {
      expect([type, (await append(acme.agent, type, payload, { generation: 0 })).status]).toEqual([
        type,
        400,
      ]);
    }
    expect((await append(acme.reviewer, 'run_ended', runEnded(run_id), { generation: 0 })).status).toBe(403);
    expect(await runOf(run_id)).toMatchObject({ status: 'REQUESTED' });
  });

  test('cannot change a run by an event on another edge', async () => {
    const { acme, iterate, append, runOf, post } = await openTenants();
    const { run_id } = (await iterate(acme.agent)).body.run;
    const other = `${FEATURE}#intent_requirements`;
    const { body } = await post(
      '/api/tenants/acme/projects/shop/claims',
      { task_id: other, agent_id: 'mallory', session_id: 's-m' },
      acme.other,
    );
    const handle = { task_id: other, generation: 1, claim_id: body.claim.id };
    expect((await append(acme.other, 'run_started', runStarted(run_id), handle)).status).toBe(200);
    expect((await append(acme.other, 'run_ended', runEnded(run_id), handle)).status).toBe(200);
    expect(await runOf(run_id)).toMatchObject({ status: 'REQUESTED', started_at: null });
  });

  test('cannot record a run or its cost outside of an edge', async () => {
    const { testServer, acme, append, get } = await openTenants();
    const plan = { tracks: { A: [{ id: 'A-001-core', description: 'x', depends_on: [] }] } };
    await testServer.request('PUT', '/api/tenants/acme/projects/shop/plan', plan, acme.admin);
    const cost = { ...NO_COST, usd: 1000 };
    for (const subjectFields of [
      { task_id: undefined },
      { task_id: undefined, feature_id: FEATURE },
      { task_id: 'A-001-core' },
    ]) {
      const more = { ...subjectFields, generation: 0 };
      expect((await append(acme.other, 'run_started', runStarted(UNKNOWN_RUN), more)).status).toBe(400);
      const spent = { ...stepCompleted(UNKNOWN_RUN), cost };
      expect((await append(acme.other, 'run_step_completed', spent, more)).status).toBe(400);
    }
    expect((await get('/api/spent?project_id=shop', acme.admin)).body.spent.project.usd).toBe(0);
    expect((await get('/api/runs?project_id=shop', acme.admin)).body.runs).toEqual([]);
  });

  test('cannot cancel a run, and neither can a reviewer, a viewer or a runner', async () => {
    const { acme, iterate, post, runOf } = await openTenants();
    const { run_id } = (await iterate(acme.agent)).body.run;
    for (const role of ['agent', 'reviewer', 'viewer', 'runner'] as const) {
      const { status } = await post(`/api/runs/${run_id}/cancel`, { project_id: 'shop' }, acme[role]);
      expect([role, status]).toEqual([role, 403]);
    }
    for (const role of ['reviewer', 'viewer', 'runner'] as const)
      expect([role, (await iterate(acme[role])).status]).toEqual([role, 403]);
    expect(await runOf(run_id)).toMatchObject({ status: 'REQUESTED' });
  });
});

describe('a run', () => {
  test('is not visible in another tenant or project, and cannot be cancelled or retried from there', async () => {
    const { acme, rival, iterate, post, get, runOf } = await openTenants();
    const { run_id } = (await iterate(acme.agent)).body.run;
    const runsSeenBy = async (as: Headers, projectId: string) => [
      (await get(`/api/runs?project_id=${projectId}`, as)).body.runs,
      (await get(`/api/runs/${run_id}?project_id=${projectId}`, as)).status,
      (await post(`/api/runs/${run_id}/cancel`, { project_id: projectId }, as)).body.reason,
      (await iterate(as, { project_id: projectId, retry_of: run_id })).body.reason,
    ];
    const nothing = [[], 404, 'UNKNOWN_RUN', 'UNKNOWN_RUN'];
    expect(await runsSeenBy(rival.admin, 'shop')).toEqual(nothing);
    expect(await runsSeenBy(acme.admin, 'bank')).toEqual(nothing);
    for (const path of ['/api/runs', `/api/runs/${run_id}`, '/api/spent']) {
      const { status } = await get(`${path}?project_id=shop`, { ...rival.agent, 'x-genesis-tenant': 'acme' });
      expect([path, [403, 404].includes(status)]).toEqual([path, true]);
    }
    const withOtherTenant = { ...rival.admin, 'x-genesis-tenant': 'acme' };
    expect([403, 404]).toContain(
      (await post(`/api/runs/${run_id}/cancel`, { project_id: 'shop' }, withOtherTenant)).status,
    );
    expect(await runOf(run_id)).toMatchObject({ status: 'REQUESTED' });
  });

  test('is not requested by a malformed body', async () => {
    const { acme, iterate, post, get } = await openTenants();
    const bodies: object[] = [
      { edge: { toString: 'x' } },
      { edge: ['design_code'] },
      { edge: '' },
      { edge: MEGABYTE },
      { edge: nested(1_000) },
      { feature_id: '__proto__' },
      { feature_id: `${FEATURE}#design_code` },
      { retry_of: '../..' },
      { unknown: 1 },
      { dry_run: 'yes' },
      { request_id: { toString: 'x' } },
      PROTO,
    ];
    for (const body of bodies) {
      const { status } = await iterate(acme.agent, body);
      expect([Object.keys(body), [400, 413].includes(status)]).toEqual([Object.keys(body), true]);
    }
    for (const edge of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const { status, body } = await iterate(acme.agent, { edge });
      expect([edge, [400, 404, 409].includes(status), body.success ?? false]).toEqual([edge, true, false]);
    }
    const huge = await post(
      '/api/iterate',
      { project_id: 'shop', ...EDGE, x: MEGABYTE.repeat(10) },
      acme.agent,
    );
    expect(huge.status).toBe(413);
    for (const query of ['status=__proto__', 'limit=-1', 'limit=1e9', 'after=x', 'feature=%00', 'x=1']) {
      const { status } = await get(`/api/runs?project_id=shop&${query}`, acme.agent);
      expect([query, status]).toEqual([query, 400]);
    }
    for (const id of ['__proto__', 'constructor', '..%2f..', 'x'.repeat(4000)]) {
      const { status } = await get(`/api/runs/${id}?project_id=shop`, acme.agent);
      expect([id.slice(0, 20), [400, 404, 414].includes(status)]).toEqual([id.slice(0, 20), true]);
    }
    expect((await get('/api/runs?project_id=shop', acme.agent)).body.runs).toEqual([]);
  });
});

describe('under `evidence: verified`, without evidence of a runner', () => {
  const PROJECT = '/api/tenants/acme/projects/shop';
  const TASK = `${PROJECT}/tasks/${encodeURIComponent(SUBJECT)}`;
  const details = ['compiles', 'reads_well'].map((name) => ({ name, result: 'pass' }));
  const evaluators = { passed: 2, failed: 0, skipped: 0, total: 2, details };

  async function openVerified() {
    const opened = await openTenants();
    const { testServer, acme, get } = opened;
    const policy = await testServer.request('PUT', `${PROJECT}/policy`, { evidence: 'verified' }, acme.admin);
    expect(policy.status).toBe(200);
    const readTask = async (): Promise<AnyJson> => (await get(TASK, acme.admin)).body;
    return { ...opened, readTask };
  }

  test('no submission of an agent, a batch, a person or another log converges an edge', async () => {
    const { acme, post, claim, readTask } = await openVerified();
    const { agent_id: _, ...handle } = await claim(acme.agent, 'alpha', 's1');
    const result = { task_id: SUBJECT, ...handle, result_data: 'x', iteration: 1, evaluators };
    const submit = async (more: object, as = acme.agent) =>
      (await post(`${PROJECT}/results`, { ...result, ...more }, as)).body;
    const offline = { event_id: UNKNOWN_RUN, occurred_at: '2026-01-03T10:00:00.000Z' };
    const skipped = {
      ...{ passed: 0, failed: 0, skipped: 2, total: 2 },
      details: details.map(({ name }) => ({ name, result: 'skip' })),
    };
    for (const more of [{}, { offline }, { evaluators: skipped }, { convergence_type: 'human_override' }])
      expect((await submit(more)).accepted ?? false).toBe(false);
    expect((await submit({})).reason).toBe('NOT_CONVERGED');
    await post(`${PROJECT}/results/batch`, { items: [result] }, acme.agent);
    expect((await submit({}, acme.admin)).accepted ?? false).toBe(false);
    const newHolder = { agent_id: 'rita', session_id: 's-rita', agent_role: 'human' };
    const operatorFields = { expected_generation: 1, reason: 'because' };
    const reassigned = (await post(`${TASK}/reassign`, { ...operatorFields, ...newHolder }, acme.admin)).body;
    expect(reassigned).toMatchObject({ success: true, generation: 2 });
    const newHandle = { session_id: 's-rita', generation: 2, claim_id: reassigned.claim?.id };
    expect((await submit(newHandle, acme.admin)).accepted ?? false).toBe(false);
    expect(await readTask()).toMatchObject({ phase: 'OPEN', result: null });
  });

  test('neither an approval nor an adoption converges an edge', async () => {
    const { acme, post, get, claim, readTask } = await openVerified();
    const { agent_id: _, ...handle } = await claim(acme.agent, 'alpha', 's1');
    const result = { task_id: SUBJECT, ...handle, result_data: 'x', iteration: 1, evaluators };
    const submitted = (await post(`${PROJECT}/results`, result, acme.agent)).body;
    expect(submitted.reason).toBe('NOT_CONVERGED');
    const { generation, ...holder } = handle;
    const candidate = { iteration: 1, candidate_sha256: SHA };
    const suspend = { task_id: SUBJECT, ...holder, expected_generation: generation, ...candidate };
    const suspended = await post(`${PROJECT}/claims/suspend`, suspend, acme.agent);
    expect(suspended.body).toMatchObject({ success: true });
    const review = { task_id: SUBJECT, generation, ...candidate, decision: 'APPROVED' };
    for (const as of [acme.agent, acme.runner, acme.viewer])
      expect((await post(`${PROJECT}/reviews`, review, as)).status).toBe(403);
    await post(`${PROJECT}/reviews`, review, acme.reviewer);
    expect((await post(`${PROJECT}/results`, result, acme.agent)).body.accepted ?? false).toBe(false);
    const operatorFields = { expected_generation: 1, reason: 'because' };
    await post(`${TASK}/force_release`, operatorFields, acme.admin);
    await claim(acme.agent, 'alpha', 's2');
    await post(`${PROJECT}/results`, result, acme.agent);
    const { results } = (await get(`${TASK}/results`, acme.admin)).body;
    const result_id = results.at(-1)?.id;
    const adopt = { expected_generation: 2, reason: 'because', result_id };
    expect((await post(`${TASK}/adopt`, adopt, acme.admin)).body).toMatchObject({
      success: false,
      reason: 'NOT_CONVERGED',
    });
    expect((await post(`${PROJECT}/events/import/trust`, { reason: 'x' }, acme.agent)).status).toBe(403);
    expect(await readTask()).toMatchObject({ phase: 'OPEN', result: null });
  });

  test('an agent can neither record evidence, enrol a runner, nor change the policy', async () => {
    const { testServer, acme, post } = await openVerified();
    const key = { public_key: 'A'.repeat(43) };
    for (const role of ['agent', 'reviewer', 'runner', 'viewer'] as const) {
      expect([role, (await post(`${PROJECT}/runners`, key, acme[role])).status]).toEqual([role, 403]);
      const policy = await testServer.request(
        'PUT',
        `${PROJECT}/policy`,
        { evidence: 'reported' },
        acme[role],
      );
      expect([role, policy.status]).toEqual([role, 403]);
    }
    expect((await post(`${PROJECT}/evidence`, { evidence: {} }, acme.agent)).status).toBe(403);
  });
});

test.each([
  'https://0x7f000001/',
  'https://017700000001/',
  'https://127.1/',
  'https://127.0.0.1./',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::]/',
  'https://0/',
  'https://169.254.169.254/',
  'https://①②⑦.⓪.⓪.①/',
  'https://user@8.8.8.8/',
  'https://8.8.8.8:22/',
  'https:8.8.8.8:22',
  'https://8.8.8.8@127.0.0.1/',
])('a webhook of a project is never sent to %s', async (url) => {
  const sent = postWebhook({ url, body: '{}' }, PUBLIC_TARGETS);
  await expect(sent).rejects.toThrow(/not public|password|port 22/);
});
