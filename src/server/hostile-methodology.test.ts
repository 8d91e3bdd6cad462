import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MEGABYTE, nested, PROTO } from '../../test/support/bad-bodies.js';
import { methodologyOperations } from '../core/contract/methodology.js';
import { methodologyViewOperations } from '../core/contract/methodology-views.js';
import { ROLES, type Role } from './auth/principal.js';
import type { Route } from './route.js';
import { ROUTES } from './routes.js';
import { type AnyJson, TestServer } from './testing/test-server.js';

const METHODOLOGY_OPERATION_IDS = Object.keys({ ...methodologyOperations, ...methodologyViewOperations });
const methodologyRoutes = ROUTES.filter(({ id }) => METHODOLOGY_OPERATION_IDS.includes(id));

const FEATURE = 'REQ-F-AUTH-001';
/** A valid input for each route, for a project with features. A route missing here fails the test. */
const VALID_INPUTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  init: { files: { 'coordination.yml': 'coordination: {mode: multi}\n' }, request_id: 'i1' },
  start: { feature: FEATURE, edge: 'design_code', profile: 'standard', agent_id: 'a', agent_role: 'x' },
  spawn: {
    vector_type: 'spike',
    parent: FEATURE,
    edge: 'design_code',
    reason: 'why',
    title: 'what',
    duration: '1 day',
    priority: 'low',
  },
  fold_back: {
    feature_id: FEATURE,
    fold_back_status: 'converged',
    summary: 'so',
    recommendation: 'proceed',
    artifacts: ['a'],
  },
  checkpoint: { context_hash: 'x', message: 'm', git_ref: 'g', snapshot_path: 's', features: [FEATURE] },
  decide_review: {
    feature_id: FEATURE,
    edge: 'design_code',
    generation: 1,
    iteration: 1,
    candidate_sha256: 'a'.repeat(64),
    decision: 'approved',
    comment: 'c',
  },
  create_review_link: {
    feature_id: FEATURE,
    edge: 'design_code',
    reviewer: 'rita@example.com',
    valid_days: 1,
  },
  decide_proposal: { proposal_id: `prop_${'0'.repeat(24)}`, decision: 'approve', comment: 'c' },
  validate_gaps: { layers_run: [1], keys: [{ key: FEATURE, code: 0, tests: 0, telemetry: 0 }] },
  release: { version: '1.2.3', git_tag: 't', context_hash: 'c', coverage_pct: 1, known_gaps: 0 },
  methodology_status: { feature: FEATURE },
  zoom: { edge: 'design_code', feature: FEATURE },
  trace: { req: FEATURE, direction: 'both' },
  pending_reviews: {},
  known_gaps: {},
};
/** Human-readable text, which may contain line breaks. */
const TEXT_FIELDS = new Set(['summary', 'message', 'comment']);
/** Single-line fields that are not used as names of files or subjects, so any text in them is harmless. */
const LINE_FIELDS = new Set([
  'reason',
  'title',
  'context_hash',
  'git_ref',
  'git_tag',
  'snapshot_path',
  'edge',
  'profile',
  'agent_role',
  'duration',
]);

let testServer: TestServer;
const keyOf = {} as Record<Role, string>;
const logged: Record<string, unknown>[] = [];
const SHOP = 'shop';
beforeAll(async () => {
  testServer = await TestServer.start({ log: (line) => logged.push(line) });
  const feature = `feature: ${FEATURE}\ntitle: Sign in\nprofile: standard\nstatus: pending\n`;
  const files = { [`features/active/${FEATURE}.yml`]: feature };
  const createKey = async (tenant: string, role: Role, token = '') => {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
    return (await testServer.request('POST', `/api/tenants/${tenant}/keys`, { role }, headers)).body.token;
  };
  keyOf.operator = await createKey('acme', 'operator');
  for (const role of ROLES.filter((each) => each !== 'operator'))
    keyOf[role] = await createKey('else', role, keyOf.operator);
  const initialized = await callRoute(routeOf('init'), { project_id: SHOP, files }, 'operator', 'acme');
  expect([initialized.status, initialized.body.reason]).toEqual([200, expect.anything()]);
  expect(
    (
      await callRoute(
        routeOf('methodology_status'),
        { project_id: SHOP, feature: FEATURE },
        'operator',
        'acme',
      )
    ).status,
  ).toBe(200);
});
afterAll(async () => {
  expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
  await testServer.remove();
});

const routeOf = (id: string): Route => methodologyRoutes.find((each) => each.id === id) as Route;

function callRoute({ method, path }: Route, input: unknown, role: Role, tenant?: string) {
  const headers = {
    authorization: `Bearer ${keyOf[role]}`,
    ...(tenant === undefined ? {} : { 'x-genesis-tenant': tenant }),
  };
  if (method !== 'GET')
    return testServer.request(method, path, typeof input === 'string' ? input : JSON.stringify(input), {
      'content-type': 'application/json',
      ...headers,
    });
  const query = new URLSearchParams(
    Object.entries(input as AnyJson).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return testServer.request(method, `${path}?${query}`, undefined, headers);
}

const ROUTE_TABLE = methodologyRoutes.map((each) => [each.id, each] as const);
const READ_ROUTES = ROUTE_TABLE.filter(([, { action }]) => action === 'read');

test('the table of inputs covers every route', () => {
  expect(methodologyRoutes.map(({ id }) => id).sort()).toEqual(Object.keys(VALID_INPUTS).sort());
});

describe.each(ROLES.filter((role) => role !== 'operator'))('a %s of another tenant', (role) => {
  test.each(ROUTE_TABLE)('gets the same 404 from %s, whatever tenant it requests', async (id, each) => {
    const replyTo = async (tenant: string, project_id: string) => {
      const { status, body, headers } = await callRoute(
        each,
        { project_id, ...VALID_INPUTS[id] },
        role,
        tenant,
      );
      return { status, body, headers: [...headers].filter(([name]) => name !== 'date') };
    };
    const existingReply = await replyTo('acme', SHOP);
    expect(existingReply.status).toBe(404);
    expect(existingReply).toEqual(await replyTo('zero', 'nope'));
    expect(existingReply).toEqual(await replyTo('../acme', SHOP));
  });

  test.each(READ_ROUTES)('finds no project of another tenant by %s in its own', async (id, each) => {
    const replyTo = async (project_id: string) => {
      const { status, body } = await callRoute(each, { project_id, ...VALID_INPUTS[id] }, role);
      return [status, JSON.stringify(body).replaceAll(project_id, '<project>')];
    };
    expect(await replyTo(SHOP)).toEqual(await replyTo('nope'));
  });
});

/** Values that are invalid in every field. */
const INVALID_VALUES: readonly unknown[] = [
  MEGABYTE,
  PROTO,
  nested(20),
  nested(1500),
  '',
  null,
  -1,
  1e300,
  true,
  [[]],
  [PROTO],
  { a: 7 },
  { constructor: 'x' },
];
const CONTROL_TEXTS: readonly unknown[] = ['a\nb', 'a\0b', '\u001b[2J'];
const INVALID_NAMES: readonly unknown[] = [
  '../..',
  '/etc/passwd',
  '__proto__',
  '~methodology',
  '#',
  '\u202e',
  '\ud800',
];

const hasConstructorKey = (value: unknown) => Object.hasOwn((value ?? {}) as object, 'constructor');
const invalidValuesFor = (field: string): readonly unknown[] => {
  // Files with unknown names are ignored, so such a name is not an error.
  if (field === 'files')
    return INVALID_VALUES.filter((value) => value !== PROTO && !hasConstructorKey(value));
  if (TEXT_FIELDS.has(field)) return INVALID_VALUES;
  return LINE_FIELDS.has(field)
    ? [...INVALID_VALUES, ...CONTROL_TEXTS]
    : [...INVALID_VALUES, ...CONTROL_TEXTS, ...INVALID_NAMES];
};

describe.each(ROUTE_TABLE)('%s', (id, each) => {
  const project = { project_id: SHOP };
  const logPosition = async () =>
    (await callRoute(routeOf('known_gaps'), project, 'operator', 'acme')).body.position;

  test('refuses every invalid field, and writes nothing', async () => {
    const before = await logPosition();
    const validInput = { ...project, ...VALID_INPUTS[id] } as Record<string, unknown>;
    const expectRefused = async (input: unknown, what: string) => {
      const reply = await callRoute(each, input, 'operator', 'acme');
      const text = JSON.stringify(reply.body);
      expect([reply.status === 431 ? 400 : reply.status, reply.body.code ?? reply.body.reason], what).toEqual(
        [400, expect.stringMatching(/^INVALID_|^HEADERS_TOO_LARGE$/)],
      );
      expect(text.length, what).toBeLessThan(4000);
    };
    for (const field of Object.keys(validInput)) {
      for (const value of invalidValuesFor(field)) {
        if (each.method === 'GET' && typeof value !== 'string') continue;
        await expectRefused(
          { ...validInput, [field]: value },
          `${field}: ${JSON.stringify(value).slice(0, 60)}`,
        );
      }
    }
    await expectRefused({ ...validInput, unknown_field: 1 }, 'an unknown field');
    await expectRefused({ ...validInput, constructor: '1' }, 'a constructor');
    if (each.method === 'GET') return;
    const text = JSON.stringify(validInput);
    await expectRefused(`${text.slice(0, -1)},"__proto__":{"admin":true}}`, '__proto__');
    for (const body of [
      '',
      '[]',
      'null',
      '7',
      '"x"',
      '{',
      `${'['.repeat(100_000)}`,
      `{"a":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_001)}`,
    ])
      await expectRefused(body, body.slice(0, 20));
    expect(({} as AnyJson).admin).toBeUndefined();
    expect(await logPosition()).toBe(before);
  });

  test('refuses a body that is too large', async () => {
    if (each.method === 'GET') return;
    const reply = await callRoute(
      each,
      { ...project, ...VALID_INPUTS[id], pad: 'x'.repeat(17 * 1024 * 1024) },
      'operator',
      'acme',
    );
    expect([reply.status, reply.body.code]).toEqual([413, 'BODY_TOO_LARGE']);
  });

  test('refuses invalid names of projects and tenants', async () => {
    for (const project_id of ['', '..', '../shop', 'a/b', '_tenant', '__proto__', MEGABYTE, '\0']) {
      const reply = await callRoute(each, { ...VALID_INPUTS[id], project_id }, 'operator', 'acme');
      expect([400, 431], project_id.slice(0, 20)).toContain(reply.status);
    }
    for (const tenant of ['..', '../acme', '_tenant/x', 'x'.repeat(200)]) {
      const reply = await callRoute(each, { ...VALID_INPUTS[id], ...project }, 'operator', tenant);
      expect([reply.status, reply.body.code], tenant).toEqual([400, 'INVALID_REQUEST']);
    }
  });
});

test('refuses files whose total length exceeds the limit', async () => {
  const file = '#'.repeat(200 * 1024);
  const files = Object.fromEntries(Array.from({ length: 22 }, (_, index) => [`notes/n${index}.yml`, file]));
  const reply = await callRoute(routeOf('init'), { project_id: 'large', files }, 'operator', 'acme');
  expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_METHODOLOGY']);
  expect(reply.body.detail).toContain('4505600 characters');
});
