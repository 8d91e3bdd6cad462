import type { z } from 'zod';
import { ID_LENGTH_MAX, ID_PATTERN } from '../id-grammar.js';
import {
  BATCH_ITEMS_MAX,
  batchClaimBody,
  claimBody,
  LEASE_SECONDS_MAX,
  METADATA_BYTES_MAX,
  nextBody,
  releaseBody,
  renewBody,
  submitBody,
} from './claim-bodies.js';
import { isPlainData } from './schema.js';

type FieldCheck = (value: unknown) => boolean;
type BodyReader = (body: unknown) => Record<string, unknown> | null;

const textCheck =
  (max: number): FieldCheck =>
  (value) =>
    typeof value === 'string' && value.length > 0 && value.length <= max;
const idCheck: FieldCheck = (value) =>
  typeof value === 'string' && value.length <= ID_LENGTH_MAX && ID_PATTERN.test(value);
const integerCheck =
  (min: number, max: number): FieldCheck =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
const oneOfCheck =
  (...values: readonly string[]): FieldCheck =>
  (value) =>
    values.includes(value as string);

/** A character of JSON text takes at most three bytes. */
const METADATA_CHARS_MAX = METADATA_BYTES_MAX / 3;
const metadataCheck: FieldCheck = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  isPlainData(value) &&
  JSON.stringify(value).length <= METADATA_CHARS_MAX;

const generation = integerCheck(0, Number.MAX_SAFE_INTEGER);
const requestField = { request_id: idCheck };
const leaseFields = { lease_duration_seconds: integerCheck(1, LEASE_SECONDS_MAX), ...requestField };
const handleFields = { task_id: textCheck(200), session_id: idCheck, claim_id: textCheck(64) };

/**
 * Reads an object that has the required fields of a schema and only fields that have a check. The fields come in the
 * schema's order, because the digest of a request depends on it.
 */
function bodyReader({ shape }: z.ZodObject, checks: Readonly<Record<string, FieldCheck>>): BodyReader {
  const fields = Object.keys(shape)
    .filter((name) => name in checks)
    .map((name) => ({
      name,
      check: checks[name] as FieldCheck,
      ifMissing: (shape[name] as z.ZodType).safeParse(undefined),
    }));
  const requiredCount = Object.values(shape).filter((field) => !field.safeParse(undefined).success).length;
  if (fields.filter(({ ifMissing }) => !ifMissing.success).length < requiredCount)
    throw new Error('A required field of the schema has no check.');
  return (body) => {
    if (typeof body !== 'object' || body === null) return null;
    const copy: Record<string, unknown> = {};
    let found = 0;
    for (const { name, check, ifMissing } of fields) {
      const value = (body as Record<string, unknown>)[name];
      if (value === undefined) {
        if (!ifMissing.success) return null;
        if (ifMissing.data !== undefined) copy[name] = ifMissing.data;
      } else {
        if (!check(value)) return null;
        copy[name] = value;
        found += 1;
      }
    }
    return Object.keys(body).length === found ? copy : null;
  };
}

const readClaim = bodyReader(claimBody, {
  task_id: textCheck(200),
  agent_id: idCheck,
  session_id: idCheck,
  agent_role: textCheck(64),
  metadata: metadataCheck,
  ...leaseFields,
});
const readBatch = bodyReader(batchClaimBody, {
  claims: (claims) => Array.isArray(claims) && claims.length > 0 && claims.length <= BATCH_ITEMS_MAX,
  mode: oneOfCheck('partial', 'all_or_nothing'),
});
const readSubmit = bodyReader(submitBody, {
  ...handleFields,
  generation,
  result_data: isPlainData,
  metadata: metadataCheck,
  ...requestField,
});

function readBatchClaim(body: unknown): Record<string, unknown> | null {
  const batch = readBatch(body);
  if (batch === null) return null;
  const claims: Record<string, unknown>[] = [];
  for (const item of batch.claims as unknown[]) {
    const claim = readClaim(item);
    if (claim === null) return null;
    claims.push(claim);
  }
  batch.claims = claims;
  return batch;
}

const READERS = new Map<z.ZodType, BodyReader>([
  [claimBody, readClaim],
  [batchClaimBody, readBatchClaim],
  [
    nextBody,
    bodyReader(nextBody, {
      agent_id: idCheck,
      session_id: idCheck,
      wait_seconds: integerCheck(0, 30),
      ...leaseFields,
    }),
  ],
  [renewBody, bodyReader(renewBody, { ...handleFields, expected_generation: generation, ...leaseFields })],
  [
    releaseBody,
    bodyReader(releaseBody, {
      ...handleFields,
      expected_generation: generation,
      reason: oneOfCheck('VOLUNTARY', 'ERROR'),
      message: textCheck(2000),
      ...requestField,
    }),
  ],
  [
    submitBody,
    (body) => {
      const submission = readSubmit(body);
      return submission?.result_data === undefined ? null : submission;
    },
  ],
]);

/**
 * Reads a frequent body in its common form, in a fraction of the schema's time. It returns exactly what the schema
 * would return. Null: the schema decides, and explains what is wrong.
 */
export const parseBodyFastPath = <S extends z.ZodType>(schema: S, body: unknown): z.output<S> | null =>
  (READERS.get(schema)?.(body) as z.output<S> | undefined) ?? null;
