import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROJECT_URL, TENANT_URL, TestServer } from './testing/test-server.js';

let testServer: TestServer;
const logged: Record<string, unknown>[] = [];
beforeAll(async () => {
  testServer = await TestServer.start({ log: (line) => logged.push(line) });
  await testServer.putPlan(
    ...Array.from({ length: 30 }, (_, index) => `A-${String(index + 1).padStart(3, '0')}-x`),
  );
});
afterAll(async () => {
  expect((await testServer.get(`${PROJECT_URL}/tasks/A-001-x`)).status).toBe(200);
  expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
  await testServer.remove();
});

const CLAIMANT = { agent_id: 'alpha', session_id: 's1' };

describe('an edge name', () => {
  test.each([
    ['that is a prototype key', '__proto__'],
    ['with a second separator', 'design#code'],
    ['with a path', '../../design'],
    ['with a line break', 'design\ncode'],
    ['with an invisible character', '​'],
    ['with a null character', 'design\0'],
    ['that is too long', 'x'.repeat(101)],
    ['that is empty', ''],
    ['that is an escape', '%23'],
    ['with a lone surrogate', '\ud800'],
  ])('%s is refused', async (_, edge) => {
    const claimed = await testServer.post(`${PROJECT_URL}/claims`, {
      feature_id: 'REQ-F-AUTH-001',
      edge,
      ...CLAIMANT,
    });
    expect([400, 404]).toContain(claimed.status);
    expect(claimed.body.success ?? false).toBe(false);
    const subject = encodeURIComponent(`REQ-F-AUTH-001#${edge.replace(/\ud800/, '?')}`);
    for (const suffix of ['', '/history', '/explain', '/results']) {
      const { status } = await testServer.get(`${PROJECT_URL}/tasks/${subject}${suffix}`);
      expect([200, 400, 404]).toContain(status);
    }
  });

  test.each([
    ['an object that cannot be converted to text', { toString: 'x' }],
    ['a list with such an object', [[{ toString: null }]]],
    ['a number', 7],
  ])('that is %s is refused, and logged without a subject', async (_, edge) => {
    const body = JSON.stringify({ feature_id: 'REQ-F-AUTH-001', edge, ...CLAIMANT });
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${testServer.url}${PROJECT_URL}/claims`, { method: 'POST', headers, body });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(logged.at(-1)).toMatchObject({ route: 'claim_task', subject: null, status: 400 });
  });

  test('that is valid names one subject in every spelling', async () => {
    const edge = { feature_id: 'REQ-F-AUTH-001', edge: 'design_code' };
    expect((await testServer.post(`${PROJECT_URL}/claims`, { ...edge, ...CLAIMANT })).body.reason).toBe(
      'GRANTED',
    );
    for (const name of ['design_code', 'Design Code', 'DESIGN->CODE', 'design-code', 'design  →  code']) {
      const state = await testServer.get(
        `${PROJECT_URL}/tasks/${encodeURIComponent(`REQ-F-AUTH-001#${name}`)}`,
      );
      expect(state.body).toMatchObject({ readiness: 'claimed', generation: 1 });
    }
  });
});

describe('a query with', () => {
  const LIMITS = [
    '0',
    '-1',
    '1001',
    '1.5',
    '1e309',
    '99999999999999999999',
    'NaN',
    '0x10',
    '',
    ' ',
    '1;2',
    '१',
  ];
  test.each(LIMITS)('limit=%s is refused or respected', async (limit) => {
    for (const list of ['tasks', 'events']) {
      const reply = await testServer.get(`${PROJECT_URL}/${list}?limit=${encodeURIComponent(limit)}`);
      if (reply.status !== 200) expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_REQUEST']);
      else expect(reply.body[list].length).toBeLessThanOrEqual(Number(limit));
    }
  });

  const CURSORS = [
    'p:1',
    '~',
    '%',
    '\0',
    'cDo5OTk5OTk5OTk5OTk5OTk5OTk5OTk5',
    'cDotMQ',
    'x'.repeat(201),
    'null',
  ];
  test.each(CURSORS)('after=%s is refused for events, and is not a server error for tasks', async (after) => {
    for (const path of ['events', 'events/stream']) {
      const reply = await testServer.get(`${PROJECT_URL}/${path}?after=${encodeURIComponent(after)}`);
      expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_REQUEST']);
    }
    const tasks = await testServer.get(`${PROJECT_URL}/tasks?after=${encodeURIComponent(after)}`);
    expect([200, 400]).toContain(tasks.status);
  });

  test('a cursor beyond the end is refused as CURSOR_AHEAD', async () => {
    const after = Buffer.from('p:999999999999999').toString('base64url');
    expect((await testServer.get(`${PROJECT_URL}/events?after=${after}`)).body).toMatchObject({
      code: 'CURSOR_AHEAD',
    });
  });

  test('an invalid position is not a server error, and a negative one is refused', async () => {
    for (const at of ['-1', '1e400', '9007199254740993', 'x', '']) {
      expect([200, 400]).toContain((await testServer.get(`${PROJECT_URL}/status?at=${at}`)).status);
    }
    expect((await testServer.get(`${PROJECT_URL}/status?at=-1`)).status).toBe(400);
  });

  test('a repeated parameter is not a server error, and an unknown one is refused', async () => {
    const many = Array(200).fill('limit=1').join('&');
    expect([200, 400]).toContain((await testServer.get(`${PROJECT_URL}/tasks?${many}`)).status);
    expect((await testServer.get(`${PROJECT_URL}/tasks?__proto__=1`)).status).toBe(400);
  });
});

describe('a public key that', () => {
  const base64urlOfHex = (hex: string) => Buffer.from(hex, 'hex').toString('base64url');
  const P_MINUS_1 = `ec${'ff'.repeat(30)}7f`;
  test.each([
    ['is the neutral element, for which any signature is valid', base64urlOfHex(`01${'00'.repeat(31)}`)],
    ['is of order two', base64urlOfHex(P_MINUS_1)],
    ['is of order four', base64urlOfHex('00'.repeat(32))],
    ['is of order four, with the sign bit set', base64urlOfHex(`${'00'.repeat(31)}80`)],
    ['is of order eight', base64urlOfHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05')],
    [
      'is also of order eight',
      base64urlOfHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'),
    ],
    ['has a coordinate beyond the field', base64urlOfHex(`ee${'ff'.repeat(30)}7f`)],
    ['is not a point on the curve', base64urlOfHex(`02${'00'.repeat(31)}`)],
    ['has unused trailing bits set', `${base64urlOfHex('58'.repeat(32)).slice(0, -1)}h`],
    ['is too short', 'AAAA'],
    ['is padded', `${base64urlOfHex('66'.repeat(32))}=`],
  ])('%s is refused', async (_, public_key) => {
    const reply = await testServer.post(`${TENANT_URL}/sessions`, {
      user_id: 'u',
      project_id: 'shop',
      public_key,
    });
    expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_REQUEST']);
    expect(reply.body.faults).toMatchObject([{ path: 'public_key' }]);
  });
});

describe('a hundred concurrent requests with one request_id', () => {
  const sendHundred = (path: string, body: object) =>
    Promise.all(Array.from({ length: 100 }, () => testServer.post(path, body)));
  const countDistinct = (replies: readonly { status: number; body: unknown }[]) =>
    new Set(replies.map(({ status, body }) => JSON.stringify([status, body]))).size;

  test('claim one task, and get the same reply', async () => {
    const replies = await sendHundred(`${PROJECT_URL}/next`, {
      ...CLAIMANT,
      track: 'A',
      request_id: 'r-next',
    });
    expect(replies[0]?.body.reason).toBe('GRANTED');
    expect(countDistinct(replies)).toBe(1);
    const { events } = (await testServer.get(`${PROJECT_URL}/events?type=CLAIM_ACQUIRED&limit=1000`)).body;
    const acquired = events.filter((event: { request_id?: string }) => event.request_id === 'r-next');
    expect(acquired).toHaveLength(1);
  });

  test('submit one result', async () => {
    const handle = await testServer.claim('A-020-x');
    const replies = await sendHundred(`${PROJECT_URL}/results`, {
      ...handle,
      result_data: 1,
      request_id: 'r-submit',
    });
    expect(replies[0]?.body.reason).toBe('ACCEPTED');
    expect(countDistinct(replies)).toBe(1);
    expect((await testServer.get(`${PROJECT_URL}/tasks/A-020-x/results`)).body.results).toHaveLength(1);
  });

  test('and two different bodies apply one of the bodies, and refuse the other as a conflict', async () => {
    const claims = Array.from({ length: 100 }, (_, index) =>
      testServer.post(`${PROJECT_URL}/claims`, {
        task_id: `A-02${1 + (index % 2)}-x`,
        ...CLAIMANT,
        request_id: 'r-two',
      }),
    );
    const replies = await Promise.all(claims);
    const reasons = replies.map(({ body }) => body.reason ?? body.code);
    expect(new Set(reasons)).toEqual(new Set(['GRANTED', 'IDEMPOTENCY_CONFLICT']));
    const granted = replies.flatMap(({ body }) => body.claim?.task_id ?? []);
    expect(new Set(granted).size).toBe(1);
    expect(granted).toHaveLength(50);
  });
});

describe('a symbolic link in the folder of the log', () => {
  const plan = { tracks: { A: [{ id: 'A-001-x', description: 'x' }] } };

  test('that is dangling affects its own project only', async () => {
    const linkedServer = await TestServer.forTest();
    await linkedServer.putPlan('A-001-x');
    await symlink('nowhere', join(linkedServer.folder, 'acme', 'dangling'));
    await linkedServer.restart();
    expect((await linkedServer.request('PUT', `${TENANT_URL}/projects/dangling/plan`, plan)).status).toBe(
      503,
    );
    expect((await linkedServer.get(`${TENANT_URL}/projects`)).body.projects).toMatchObject([
      { project_id: 'shop', position: 1 },
    ]);
    expect((await linkedServer.claim('A-001-x')).generation).toBe(1);
  });

  test('that is circular makes its own tenant unavailable until it is removed', async () => {
    const linkedServer = await TestServer.forTest();
    await linkedServer.putPlan('A-001-x');
    const circularLink = join(linkedServer.folder, 'acme', 'round');
    await symlink('round', circularLink);
    await linkedServer.restart();
    expect((await linkedServer.get(`${PROJECT_URL}/status`)).status).toBe(503);
    expect((await linkedServer.get(`${TENANT_URL}/projects`)).status).toBe(503);
    expect((await linkedServer.request('PUT', '/api/tenants/other/projects/shop/plan', plan)).status).toBe(
      200,
    );
    await rm(circularLink);
    expect((await linkedServer.get(`${PROJECT_URL}/status`)).status).toBe(200);
    expect((await linkedServer.claim('A-001-x')).generation).toBe(1);
  });
});
