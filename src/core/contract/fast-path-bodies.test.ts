import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { batchClaimBody, claimBody, nextBody, releaseBody, renewBody, submitBody } from './claim-bodies.js';
import { parseBodyFastPath } from './fast-path-bodies.js';

const HANDLE = { task_id: 'A-001-core', session_id: 's1', claim_id: 'c1' };
const CLAIM = { task_id: 'A-001-core', agent_id: 'worker', session_id: 's1' };
/** A common form of each body, with only fields that the fast path reads. */
const COMMON_BODIES: readonly (readonly [string, z.ZodObject, Record<string, unknown>])[] = [
  [
    'claim',
    claimBody,
    { ...CLAIM, agent_role: 'coder', lease_duration_seconds: 60, metadata: { a: [1] }, request_id: 'r1' },
  ],
  [
    'batch claim',
    batchClaimBody,
    { claims: [CLAIM, { ...CLAIM, request_id: 'r1' }], mode: 'all_or_nothing', request_id: 'b1' },
  ],
  ['next', nextBody, { agent_id: 'worker', session_id: 's1', wait_seconds: 5, lease_duration_seconds: 9 }],
  ['renew', renewBody, { ...HANDLE, expected_generation: 1, lease_duration_seconds: 60, request_id: 'r1' }],
  ['release', releaseBody, { ...HANDLE, expected_generation: 1, reason: 'ERROR', message: 'broken' }],
  [
    'submit',
    submitBody,
    { ...HANDLE, generation: 1, result_data: { ok: true }, metadata: { a: 1 }, request_id: 'r1' },
  ],
];

/** Values around every limit of the schemas, and of wrong types. */
const strangeValue = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    'x',
    ' ',
    'é',
    '\u0000',
    '-a',
    'x'.repeat(64),
    'x'.repeat(65),
    'x'.repeat(120),
    'x'.repeat(121),
    'x'.repeat(128),
    'x'.repeat(129),
    'x'.repeat(200),
    'x'.repeat(201),
    'x'.repeat(2000),
    'x'.repeat(2001),
    0,
    -0,
    -1,
    0.5,
    30,
    31,
    366 * 24 * 3600,
    366 * 24 * 3600 + 1,
    2 ** 53,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    true,
    'VOLUNTARY',
    'COMPLETED',
    'partial',
    [],
    {},
    { a: 'é'.repeat(2040) },
    { a: '€'.repeat(1363) },
    { a: 'x'.repeat(4088) },
    { a: 'x'.repeat(4089) },
    JSON.parse('{"__proto__":1}'),
    [CLAIM],
    [{ ...CLAIM, with_briefing: true }],
  ),
  fc.jsonValue(),
);
const names = [...new Set(COMMON_BODIES.flatMap(([, { shape }]) => Object.keys(shape)))];

/** A common body with some fields removed, replaced or added, in any order. */
const mutatedBody = (body: Record<string, unknown>) =>
  fc
    .tuple(
      fc.array(fc.tuple(fc.constantFrom(...names, 'unknown', '__proto__'), strangeValue), { maxLength: 3 }),
      fc.subarray(Object.keys(body)),
      fc.boolean(),
    )
    .map(([replaced, removed, isReversed]) => {
      const fields = Object.entries(body).filter(([name]) => !removed.includes(name));
      const all = [...fields, ...replaced];
      return Object.fromEntries(isReversed ? all.reverse() : all);
    });

test.each(COMMON_BODIES)(
  '%s: the fast path reads the common form as the schema does, with the fields in the same order',
  (_, schema, body) => {
    const fastBody = parseBodyFastPath(schema, body);
    expect(fastBody).not.toBeNull();
    expect(JSON.stringify(fastBody)).toBe(JSON.stringify(schema.parse(body)));
  },
);

test.each(COMMON_BODIES)(
  '%s: the fast path returns null or what the schema returns, whatever the body',
  (_, schema, body) => {
    let fastPathCount = 0;
    fc.assert(
      fc.property(
        fc.oneof({ weight: 9, arbitrary: mutatedBody(body) }, { weight: 1, arbitrary: strangeValue }),
        (input) => {
          const fastBody = parseBodyFastPath(schema, input);
          if (fastBody === null) return;
          fastPathCount += 1;
          const bySchema = schema.safeParse(input);
          expect(bySchema.success).toBe(true);
          expect(fastBody).toStrictEqual(bySchema.data);
          expect(JSON.stringify(fastBody)).toBe(JSON.stringify(bySchema.data));
        },
      ),
      { numRuns: 2_000 },
    );
    expect(fastPathCount).toBeGreaterThan(100);
  },
);

test('a later change of a body does not change the fields that were read from it', () => {
  const body: Record<string, unknown> = { ...CLAIM };
  const fastBody = parseBodyFastPath(claimBody, body);
  body.agent_id = 'another';
  expect(fastBody?.agent_id).toBe('worker');
});
