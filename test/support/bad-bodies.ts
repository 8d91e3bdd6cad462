import type { Coordinator } from '../../src/coordinator/index.js';
import { PROJECT_KEY } from './coordinator-harness.js';

export const A = 'A-001-core';
export const MEGABYTE = 'A'.repeat(1_000_000);
export const HASH = 'a'.repeat(64);
/** An object with an own key `__proto__`, as a parsed body can have. */
export const PROTO = JSON.parse('{"__proto__": {"admin": true}}') as Record<string, unknown>;

export function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

type SendBody = (
  coordinator: Coordinator,
  body: unknown,
  projectKey?: typeof PROJECT_KEY,
) => Promise<unknown>;
interface BodyEndpoint {
  readonly send: SendBody;
  readonly body: Readonly<Record<string, unknown>>;
}

export const handle = { task_id: A, session_id: 's1', expected_generation: 1 };
export const result = { task_id: A, session_id: 's1', generation: 1, result_data: {} };
export const operator = { expected_generation: 1, reason: 'because' };

/** Operations that take a body, each with a valid body. */
export const BODY_ENDPOINTS: Readonly<Record<string, BodyEndpoint>> = {
  claim: {
    send: (to, body, projectKey = PROJECT_KEY) => to.claims.claimTask(projectKey, body),
    body: { task_id: A, agent_id: 'a', session_id: 's9' },
  },
  batch_claim: {
    send: (to, body, projectKey = PROJECT_KEY) => to.claims.batchClaim(projectKey, body),
    body: { claims: [{ task_id: A, agent_id: 'a', session_id: 's9' }] },
  },
  renew: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.renewLease(projectKey, body),
    body: handle,
  },
  release: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.releaseClaim(projectKey, body),
    body: handle,
  },
  submit: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.submitResult(projectKey, body),
    body: result,
  },
  renew_batch: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.renewBatch(projectKey, body),
    body: { items: [] },
  },
  release_batch: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.releaseBatch(projectKey, body),
    body: { items: [] },
  },
  submit_batch: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.submitBatch(projectKey, body),
    body: { items: [] },
  },
  suspend: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.suspendClaim(projectKey, body),
    body: handle,
  },
  resume: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.resumeClaim(projectKey, body),
    body: handle,
  },
  review: {
    send: (to, body, projectKey = PROJECT_KEY) => to.decisions.recordReview(projectKey, body),
    body: { task_id: A, generation: 1, iteration: 1, candidate_sha256: HASH, decision: 'APPROVED' },
  },
  next: {
    send: (to, body, projectKey = PROJECT_KEY) => to.claims.next(projectKey, body),
    body: { agent_id: 'a', session_id: 's9' },
  },
  note: {
    send: (to, body, projectKey = PROJECT_KEY) => to.holder.note(projectKey, body),
    body: { task_id: A, session_id: 's1', generation: 1, text: 'x' },
  },
  hold: {
    send: (to, body, projectKey = PROJECT_KEY) => to.decisions.operate(projectKey, A, 'hold', body),
    body: operator,
  },
  reset: {
    send: (to, body, projectKey = PROJECT_KEY) => to.decisions.operate(projectKey, A, 'reset', body),
    body: operator,
  },
  force_release: {
    send: (to, body, projectKey = PROJECT_KEY) => to.decisions.operate(projectKey, A, 'force_release', body),
    body: operator,
  },
  reassign: {
    send: (to, body, projectKey = PROJECT_KEY) => to.decisions.operate(projectKey, A, 'reassign', body),
    body: { ...operator, agent_id: 'b', session_id: 's2' },
  },
  adopt: {
    send: (to, body, projectKey = PROJECT_KEY) => to.decisions.operate(projectKey, A, 'adopt', body),
    body: { ...operator, result_id: 'res_x' },
  },
  open_session: {
    send: (to, body, projectKey = PROJECT_KEY) => to.sessions.open(projectKey.tenant_id, body),
    body: { project_id: 'shop' },
  },
  enrol_runner: {
    send: (to, body, projectKey = PROJECT_KEY) => to.evidence.enrolRunner(projectKey, body),
    body: { public_key: 'A'.repeat(43) },
  },
  propose_candidate: {
    send: (to, body, projectKey = PROJECT_KEY) => to.evidence.propose(projectKey, body),
    body: { ...handle, candidate_sha256: HASH },
  },
  put_policy: {
    send: (to, body, projectKey = PROJECT_KEY) => to.settings.putPolicy(projectKey, body),
    body: {},
  },
  put_limits: {
    send: (to, body, projectKey = PROJECT_KEY) => to.settings.putLimits(projectKey.tenant_id, body),
    body: {},
  },
};

/** Invalid values by field, sent to every operation whose body has the field. */
const WRONG_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  task_id: [
    '',
    'task-101',
    'A-000-x',
    'A-1-x',
    '~plan',
    '~session/s1',
    '__proto__',
    'A-001-core::0',
    '../etc',
    MEGABYTE,
    7,
    null,
    [A],
    {},
    PROTO,
    Number.NaN,
  ],
  agent_id: ['', '-a', 'a b', 'a/b', '__proto__', `a${'x'.repeat(128)}`, MEGABYTE, 7, null, [], {}],
  session_id: ['', ' s', 's/1', '../s', MEGABYTE, 7, null, PROTO],
  expected_generation: [-1, 1.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '1', null, [1], {}],
  generation: [-1, 1.5, 2 ** 53, Number.NaN, Number.NEGATIVE_INFINITY, '1', null, [1], {}],
  result_data: [
    PROTO,
    { deep: PROTO },
    nested(33),
    nested(100_000),
    Number.NaN,
    { x: Number.POSITIVE_INFINITY },
    () => 1,
  ],
  reason: ['', MEGABYTE, 7, null, {}],
  claims: [
    [],
    {},
    null,
    'x',
    Array.from({ length: 1001 }, () => ({ task_id: A, agent_id: 'a', session_id: 's9' })),
    [7],
    [PROTO],
  ],
  items: [null, {}, 'x', 7, Array.from({ length: 1001 }, () => handle)],
  iteration: [0, -1, 1.5, 1e9, '1', null],
  candidate_sha256: ['', 'A'.repeat(64), HASH.slice(1), MEGABYTE, 7],
  decision: ['approve', '', 7, null, '__proto__'],
  text: ['', 'x'.repeat(4097), MEGABYTE, 7, null],
  result_id: ['', MEGABYTE, 7, null],
  project_id: ['', '_tenant', '../x', MEGABYTE, 7],
};

/** Optional fields with invalid values. */
const WRONG_EXTRA_FIELDS: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  claim: [
    ...[0, -1, 1.5, 29, 3601, 1e12, Number.NaN, Number.POSITIVE_INFINITY, '300', null].map(leaseFields),
    ...[
      PROTO,
      { x: PROTO },
      nested(100_000),
      [],
      'x',
      { x: 'y'.repeat(5000) },
      { constructor: 1 },
      { x: Number.NaN },
    ].map((metadata) => ({ metadata })),
    { agent_role: '' },
    { agent_role: MEGABYTE },
    { feature_id: 'F', edge: 'a_b' },
    { task_id: undefined },
    { task_id: undefined, feature_id: 'F' },
    { task_id: undefined, feature_id: MEGABYTE, edge: 'a_b' },
  ],
  renew: [
    ...[0, -1, 1.5, 29, 3601, Number.NaN, '300'].map(leaseFields),
    { claim_id: '' },
    { claim_id: MEGABYTE },
    { claim_id: 7 },
  ],
  release: [{ reason: 'COMPLETED' }, { reason: 'FORCED' }, { reason: 7 }, { message: MEGABYTE }],
  submit: [
    { blob_sha256: HASH },
    { result_data: undefined },
    { result_data: undefined, blob_sha256: '../../x' },
  ],
  batch_claim: [{ mode: 'all' }, { request_id: 'r'.repeat(121) }],
  next: [
    { wait_seconds: -1 },
    { wait_seconds: 31 },
    { wait_seconds: Number.NaN },
    { track: 'a' },
    { track: MEGABYTE },
  ],
  reassign: [-1, 29, 3601, Number.NaN].map(leaseFields),
  open_session: [{ user_id: '' }, { user_id: MEGABYTE }, { user_id: 7 }, { user_id: null }],
  put_policy: [
    { stale_policy: 'release' },
    { stale_policy: { task: 'x' } },
    { stale_policy: { other: 'hold' } },
    { stale_policy: PROTO },
    { max_attempts: 0 },
    { max_hold_seconds: -1 },
    { claim_ttl_seconds: Number.NaN },
    { late_submit: true },
    { compliance_profile: 'none' },
  ],
  put_limits: [
    { max_concurrent_claims: -1 },
    { max_concurrent_claims: 1.5 },
    { max_concurrent_claims: '7' },
    { max_result_size_bytes: 2 ** 53 },
    { min_lease_duration_seconds: 0 },
  ],
};

function leaseFields(lease_duration_seconds: unknown) {
  return { lease_duration_seconds };
}

const NON_OBJECT_BODIES = [undefined, null, 7, 'x', [], [[]], true, nested(100_000)];
const WRONG_COMMON_FIELDS = [
  { unknown_field: 1 },
  PROTO,
  { constructor: 1 },
  { request_id: '' },
  { request_id: MEGABYTE },
  { request_id: 'a b' },
  { request_id: 7 },
  { signature: 'x'.repeat(513) },
];

/** Defines own properties: a spread would set the prototype instead. */
function withFields(
  body: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, unknown>>,
): unknown {
  const copy: Record<string, unknown> = { ...body };
  for (const [key, value] of Object.entries(fields)) {
    Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

export function* wrongBodies(name: string, { body }: BodyEndpoint): Generator<unknown> {
  yield* NON_OBJECT_BODIES;
  for (const fields of [...WRONG_COMMON_FIELDS, ...(WRONG_EXTRA_FIELDS[name] ?? [])])
    yield withFields(body, fields);
  for (const field of Object.keys(body)) {
    if (name !== 'release' || field !== 'reason') {
      const { [field]: _, ...rest } = body;
      yield rest;
    }
    for (const value of WRONG_VALUES[field] ?? []) yield withFields(body, { [field]: value });
  }
}
