import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { jsonLineSink } from '../log/logs.js';
import { accessLogLine } from './access-log.js';

const CALL = {
  authenticatedPrincipal: {
    id: 'key-1',
    kind: 'key',
    tenant_id: 'acme',
    role: 'agent',
    name: 'alice',
    user_id: 'alice',
    agent_role: null,
  },
  tenantId: 'acme',
  route: { id: 'claim_task' },
  params: { subject: 'A-001-core' },
  body: { request_id: 'r1' },
  loggedFields: undefined,
} as const;
const RESPONSE = { status: 409, code: 'DENIED_ACTIVE_CLAIM' };
const lineOf = (call: Parameters<typeof accessLogLine>[1]) =>
  accessLogLine(RESPONSE, call, Date.UTC(2026, 0, 4, 6), 1.23456);
const LINE = {
  level: 'info',
  time: '2026-01-04T06:00:00.000Z',
  key: 'key-1',
  user: 'alice',
  tenant: 'acme',
  route: 'claim_task',
  subject: 'A-001-core',
  status: 409,
  code: 'DENIED_ACTIVE_CLAIM',
  request_id: 'r1',
  duration_ms: 1.235,
};

test('writes a request as one line of JSON with exactly these fields', () => {
  const written: string[] = [];
  const sink = jsonLineSink(
    new Writable({ write: (chunk, _, done) => done(void written.push(String(chunk))) }),
  );
  sink(lineOf(CALL));
  expect(written).toEqual([`${JSON.stringify(LINE)}\n`]);
});

test('writes the level of a line once', () => {
  const written: string[] = [];
  const sink = jsonLineSink({ write: (line) => written.push(line) });
  sink({ level: 'error', error_id: 'e1' });
  expect(written).toEqual(['{"level":"error","error_id":"e1"}\n']);
});

test('an unauthenticated caller has no key and no user', () => {
  expect(lineOf({ ...CALL, authenticatedPrincipal: null })).toEqual({ ...LINE, key: null, user: null });
});

test.each([
  ['a key', `gck_live_${'0'.repeat(16)}_${'a'.repeat(43)}`],
  ['a claim id', `clm_${'a'.repeat(22)}`],
  ['a token', 'eyJhbGciOiJFZERTQSJ9.e30.abc'],
  ['a signature', `v1;2026-01-04T06:00:00.000Z;${'a'.repeat(86)}`],
])('redacts %s in a field that is meant for something else', (_, secret) => {
  const line = lineOf({
    ...CALL,
    tenantId: secret,
    params: { subject: secret },
    body: { request_id: secret },
  });
  expect(line).toEqual({ ...LINE, tenant: '[secret]', subject: '[secret]', request_id: '[secret]' });
});

test('truncates a long text', () => {
  expect(lineOf({ ...CALL, params: { subject: 'x'.repeat(10_000) } }).subject).toBe('x'.repeat(200));
});

test.each([
  ['an object that cannot be converted to text', { toString: 'x' }],
  ['an array that contains such an object', [[{ toString: null }]]],
  ['a number', 7],
  ['nothing', undefined],
])('writes no subject if the body names %s as the edge', (_, edge) => {
  const call = { ...CALL, params: {}, body: { feature_id: 'REQ-F-A', edge } };
  expect(lineOf(call).subject).toBeNull();
  expect(lineOf({ ...call, body: { ...call.body, edge: 'design_code' } }).subject).toBe(
    'REQ-F-A#design_code',
  );
});
