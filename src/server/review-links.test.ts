import { describe, expect, test } from 'vitest';
import { sha256Of, uploadCandidate } from '../../test/support/signing-runner.js';
import { isProblem } from '../coordinator/index.js';
import type { LogLine } from './log/logs.js';
import { type AnyJson, PROJECT_URL, TENANT_URL, TestServer } from './testing/test-server.js';

const TASK = 'A-001-x';
const FIRST_DIGEST = 'a'.repeat(64);
const SECOND_DIGEST = 'b'.repeat(64);
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

type Keys = Record<'agent' | 'reviewer' | 'admin', Record<string, string>>;

/** A server with keys, and a task whose first candidate waits for a review. */
async function openWithPendingReview(lines: LogLine[] = []) {
  const testServer = await TestServer.forTest({ log: (line) => void lines.push(line) });
  await testServer.putPlan(TASK);
  const { generation, ...handle } = await testServer.claim(TASK);
  const createKey = async (role: string, headers = {}): Promise<Record<string, string>> => {
    const { body } = await testServer.request('POST', `${TENANT_URL}/keys`, { role }, headers);
    return { authorization: `Bearer ${body.token}` };
  };
  const operator = await createKey('operator');
  const keys = {} as Keys;
  for (const role of ['agent', 'reviewer', 'admin'] as const) keys[role] = await createKey(role, operator);
  const suspend = (iteration: number, candidate_sha256: string) =>
    testServer.request(
      'POST',
      `${PROJECT_URL}/claims/suspend`,
      { ...handle, expected_generation: generation, iteration, candidate_sha256 },
      keys.agent,
    );
  expect((await suspend(1, FIRST_DIGEST)).body.reason).toBe('SUSPENDED');
  const createLink = (as: keyof Keys = 'reviewer', more = {}) =>
    testServer.request(
      'POST',
      '/api/review/link',
      { project_id: 'shop', task_id: TASK, reviewer: 'rita@example.com', ...more },
      { ...keys[as], 'x-genesis-tenant': 'acme' },
    );
  const linkPath = async (more = {}) => (await createLink('reviewer', more)).body.path as string;
  const post = (path: string, decision: string, comment = '') =>
    testServer.request(
      'POST',
      '/reviews/link',
      new URLSearchParams({ token: path.split('token=')[1] ?? '', decision, comment }).toString(),
      FORM,
    );
  const reviewPayloads = async (): Promise<AnyJson[]> => {
    const reply = await testServer.request('GET', `${PROJECT_URL}/events`, undefined, keys.agent);
    const payloads = reply.body.events.map(({ payload }: AnyJson) => payload);
    return payloads.filter((payload: AnyJson) => 'decision' in payload);
  };
  const resume = () =>
    testServer.request(
      'POST',
      `${PROJECT_URL}/claims/resume`,
      { ...handle, expected_generation: generation },
      keys.agent,
    );
  return { testServer, keys, createLink, linkPath, post, reviewPayloads, suspend, resume };
}

describe('a review link', () => {
  test('shows the candidate and decides nothing when it is opened', async () => {
    const { testServer, linkPath, reviewPayloads } = await openWithPendingReview();
    const path = await linkPath();
    for (const method of ['GET', 'HEAD']) await testServer.running.app.request(path, { method });
    const { status, headers, body } = await testServer.get(path);
    expect(status).toBe(200);
    expect(body).toContain(FIRST_DIGEST);
    expect(body).toContain('link:rita@example.com');
    expect(body).not.toContain('<script');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('script-src');
    expect(await reviewPayloads()).toEqual([]);
  });

  test.each(['APPROVED', 'REJECTED', 'CHANGES_REQUESTED'])(
    'decides %s with the form, as the person it was made for, and once',
    async (decision) => {
      const { testServer, linkPath, post, reviewPayloads } = await openWithPendingReview();
      const path = await linkPath();
      expect((await post(path, decision, 'one\r\ntwo')).status).toBe(200);
      expect(await reviewPayloads()).toMatchObject([
        { decision, reviewer: 'link:rita@example.com', candidate_sha256: FIRST_DIGEST, comment: 'one\ntwo' },
      ]);
      for (const second of [decision, 'APPROVED', 'REJECTED'])
        expect((await post(path, second)).status).toBe(409);
      expect((await testServer.get(path)).status).toBe(409);
      expect(await reviewPayloads()).toHaveLength(1);
    },
  );

  test('decides once, however many send the form at the same time', async () => {
    const { linkPath, post, reviewPayloads } = await openWithPendingReview();
    const links = await Promise.all([linkPath(), linkPath({ reviewer: 'otto@example.com' })]);
    const replies = await Promise.all(
      links.flatMap((path) => [
        post(path, 'APPROVED'),
        post(path, 'REJECTED'),
        post(path, 'CHANGES_REQUESTED'),
      ]),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await reviewPayloads()).toHaveLength(1);
  });

  test('shows the changes of the candidate, and escapes hostile text', async () => {
    const { testServer, linkPath, suspend, resume } = await openWithPendingReview();
    const putBlob = async (sha256: string, bytes: Uint8Array) => {
      const reply = await testServer.running.coordinator.blobs.putBlob('acme', sha256, bytes);
      expect(isProblem(reply)).toBe(false);
    };
    const before = 'before old.js';
    await putBlob(sha256Of(before), Buffer.from(before));
    const files = {
      'new.js': 'const a = "<script>alert(1)</script>";\n',
      'old.js': 'after\n',
      'unstored.js': 'all of it\n',
    };
    const { sha256 } = await uploadCandidate({ putBlob }, files, ['old.js', 'unstored.js']);
    await resume();
    expect((await suspend(2, sha256)).body.reason).toBe('SUSPENDED');
    const { body } = await testServer.get(await linkPath());
    expect(body).toContain(
      '<span class="good">+const a = &#34;&#60;script&#62;alert(1)&#60;/script&#62;&#34;;</span>',
    );
    expect(body).toContain(`<span class="bad">-${before}</span>`);
    expect(body).toContain('<span class="good">+after</span>');
    expect(body).toContain('its earlier content is not stored here, so all of its lines are shown as new');
    expect(body).not.toContain('<script');
  });

  test('of an older candidate does not decide on the newer one', async () => {
    const { linkPath, post, reviewPayloads, suspend, resume } = await openWithPendingReview();
    const older = await linkPath();
    await resume();
    expect((await suspend(2, SECOND_DIGEST)).body.reason).toBe('SUSPENDED');
    const reply = await post(older, 'APPROVED');
    expect([reply.status, reply.body]).toEqual([409, expect.stringContaining('no longer waits')]);
    expect(await reviewPayloads()).toEqual([]);
    expect((await post(await linkPath(), 'APPROVED')).status).toBe(200);
    expect(await reviewPayloads()).toMatchObject([{ iteration: 2, candidate_sha256: SECOND_DIGEST }]);
  });

  test('that was used does not decide again when the same candidate needs another review', async () => {
    const { linkPath, post, reviewPayloads, suspend } = await openWithPendingReview();
    const used = await linkPath();
    expect((await post(used, 'CHANGES_REQUESTED')).status).toBe(200);
    expect((await suspend(1, FIRST_DIGEST)).body.reason).toBe('SUSPENDED');
    expect((await post(used, 'APPROVED')).status).toBe(409);
    expect(await reviewPayloads()).toMatchObject([{ decision: 'CHANGES_REQUESTED' }]);
    expect((await post(await linkPath(), 'APPROVED')).status).toBe(200);
  });

  test('that has expired decides nothing and says what to do', async () => {
    const { testServer, linkPath, post, reviewPayloads } = await openWithPendingReview();
    // The validity is rounded to zero milliseconds.
    const path = await linkPath({ valid_days: 1e-9 });
    for (const reply of [await testServer.get(path), await post(path, 'APPROVED')])
      expect([reply.status, reply.body]).toEqual([410, expect.stringContaining('gen review link')]);
    expect(await reviewPayloads()).toEqual([]);
  });

  test('is valid for 366 days at most', async () => {
    const { createLink } = await openWithPendingReview();
    expect((await createLink('reviewer', { valid_days: 367 })).status).toBe(400);
    expect((await createLink('reviewer', { valid_days: 366 })).status).toBe(200);
  });

  test('that was changed in any place is not valid', async () => {
    const { testServer, linkPath, post, reviewPayloads } = await openWithPendingReview();
    const path = await linkPath();
    const token = path.split('token=')[1] as string;
    const [content = '', mac = ''] = token.slice(4).split('.');
    const fields = JSON.parse(Buffer.from(content, 'base64url').toString());
    const canonicalBase64url = (link: object) =>
      Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(link).sort()))).toString('base64url');
    expect(canonicalBase64url(fields)).toBe(content);
    for (const name of Object.keys(fields)) {
      const value = fields[name];
      const changed = { ...fields, [name]: typeof value === 'number' ? value + 1 : `${value}c` };
      const forged = `/reviews/link?token=rvl_${canonicalBase64url(changed)}.${mac}`;
      expect([name, (await post(forged, 'APPROVED')).status]).toEqual([name, 404]);
      expect([name, (await testServer.get(forged)).status]).toEqual([name, 404]);
    }
    expect((await post('/reviews/link?token=', 'APPROVED')).status).toBe(404);
    expect(await reviewPayloads()).toEqual([]);
  });

  test('of a server with another secret is not valid', async () => {
    const [server, otherServer] = [await openWithPendingReview(), await openWithPendingReview()];
    expect((await server.post(await otherServer.linkPath(), 'APPROVED')).status).toBe(404);
  });

  test('refuses a decision that does not exist, and a comment that is too long', async () => {
    const { linkPath, post, reviewPayloads } = await openWithPendingReview();
    const path = await linkPath();
    expect((await post(path, 'PERHAPS')).status).toBe(400);
    expect((await post(path, 'APPROVED', 'x'.repeat(4001))).status).toBe(400);
    expect((await post(path, 'APPROVED', 'x'.repeat(70_000))).status).toBe(413);
    expect(await reviewPayloads()).toEqual([]);
  });

  test('never puts its token into the access log', async () => {
    const lines: LogLine[] = [];
    const { testServer, linkPath, post } = await openWithPendingReview(lines);
    const path = await linkPath();
    await testServer.get(path);
    await post(path, 'APPROVED');
    expect(lines.map(({ route }) => route)).toEqual(
      expect.arrayContaining(['create_review_link', 'review_link', 'decide_review_link']),
    );
    expect(JSON.stringify(lines)).not.toContain('rvl_');
    expect(JSON.stringify(lines)).not.toContain(path.split('token=')[1]);
  });

  test('works with a form whose page has no origin, on a server without keys', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(TASK);
    const { generation, ...handle } = await testServer.claim(TASK);
    const candidate = { iteration: 1, candidate_sha256: FIRST_DIGEST };
    await testServer.post(`${PROJECT_URL}/claims/suspend`, {
      ...handle,
      expected_generation: generation,
      ...candidate,
    });
    const created = await testServer.request(
      'POST',
      '/api/review/link',
      { project_id: 'shop', task_id: TASK, reviewer: 'rita' },
      { 'x-genesis-tenant': 'acme' },
    );
    const form = new URLSearchParams({ token: created.body.path.split('token=')[1], decision: 'APPROVED' });
    const headers = { ...FORM, origin: 'null', 'sec-fetch-site': 'same-origin' };
    const reply = await testServer.requestOverSocket('POST', '/reviews/link', form.toString(), headers);
    expect(reply.status).toBe(200);
  });
});

describe('an agent', () => {
  test('can neither review nor make a link, with its own key', async () => {
    const { testServer, keys, createLink, reviewPayloads } = await openWithPendingReview();
    const review = { task_id: TASK, generation: 1, iteration: 1, candidate_sha256: FIRST_DIGEST };
    const direct = await testServer.request(
      'POST',
      `${PROJECT_URL}/reviews`,
      { ...review, decision: 'APPROVED' },
      keys.agent,
    );
    expect([direct.status, direct.body.code]).toEqual([403, 'FORBIDDEN']);
    const other = await testServer.request(
      'POST',
      '/api/review',
      { ...review, project_id: 'shop', decision: 'approved' },
      keys.agent,
    );
    expect([other.status, other.body.code]).toEqual([403, 'FORBIDDEN']);
    const created = await createLink('agent');
    expect([created.status, created.body.code]).toEqual([403, 'FORBIDDEN']);
    expect(await reviewPayloads()).toEqual([]);
  });

  test('finds no link in what it may read', async () => {
    const { testServer, keys, linkPath } = await openWithPendingReview();
    await linkPath();
    for (const read of [
      `${PROJECT_URL}/events`,
      '/api/review?project_id=shop',
      `${PROJECT_URL}/tasks/${TASK}`,
    ]) {
      const headers = { ...keys.agent, 'x-genesis-tenant': 'acme' };
      const reply = await testServer.request('GET', read, undefined, headers);
      expect([read, reply.status]).toEqual([read, 200]);
      expect(JSON.stringify(reply.body)).not.toContain('rvl_');
    }
  });

  test('that reports a human check as passed causes an escalation, and only the person converges the edge', async () => {
    const { testServer, keys } = await openWithPendingReview();
    const edge = 'intent_requirements';
    const feature_id = 'REQ-F-A-001';
    const file = `edge: ${edge}
checklist:
  - {name: done, type: deterministic, criterion: it is done, required: true, command: make}
  - {name: look, type: human, criterion: "a person says <b>yes</b>", required: true}
convergence: {rule: all_required_checks_pass}
`;
    const feature = `feature: ${feature_id}\ntitle: A\nvector_type: feature\nprofile: standard\nstatus: pending\n`;
    const project = { project_id: 'edges' };
    const withTenant = (key: Record<string, string>) => ({ ...key, 'x-genesis-tenant': 'acme' });
    const files = { [`graph/edges/${edge}.yml`]: file, [`features/active/${feature_id}.yml`]: feature };
    const ready = await testServer.request(
      'POST',
      '/api/init',
      { ...project, files },
      withTenant(keys.admin),
    );
    expect(ready.body.success).toBe(true);
    const url = `${TENANT_URL}/projects/edges`;
    const claimant = { agent_id: 'alpha', session_id: 's1' };
    const claimed = await testServer.request(
      'POST',
      `${url}/claims`,
      { feature_id, edge, ...claimant },
      keys.agent,
    );
    const { id: claim_id, generation } = claimed.body.claim;
    const details = [
      { name: 'done', result: 'pass' },
      { name: 'look', type: 'human', result: 'pass' },
      { name: '<script>alert(1)</script>', result: 'pass' },
    ];
    const submission = {
      ...{ task_id: `${feature_id}#${edge}`, session_id: 's1', claim_id, generation },
      result_data: 'a draft',
      evaluators: { passed: 3, failed: 0, skipped: 0, total: 3, details },
    };
    const submitted = await testServer.request('POST', `${url}/results`, submission, keys.agent);
    expect([submitted.status, submitted.body.reason]).toEqual([202, 'ESCALATED']);
    const body = { ...project, feature_id, edge, reviewer: 'rita' };
    const created = await testServer.request('POST', '/api/review/link', body, withTenant(keys.reviewer));
    const page = await testServer.get(created.body.path);
    expect(page.body).toContain('look: a person says &#60;b&#62;yes');
    expect(page.body).toContain('done: <span class="good">pass</span>');
    expect(page.body).not.toContain('<script');
    const taskPhase = async () =>
      (
        await testServer.request(
          'GET',
          `${url}/tasks/${encodeURIComponent(submission.task_id)}`,
          undefined,
          keys.agent,
        )
      ).body.phase;
    expect(await taskPhase()).toBe('OPEN');
    const form = new URLSearchParams({ token: created.body.path.split('token=')[1], decision: 'APPROVED' });
    const decided = await testServer.request('POST', '/reviews/link', form.toString(), FORM);
    expect(decided.status).toBe(200);
    expect(await taskPhase()).toBe('COMPLETED');
  });
});
