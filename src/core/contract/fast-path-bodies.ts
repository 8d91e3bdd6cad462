import type { z } from 'zod';
import { ID_LENGTH_MAX, ID_PATTERN } from '../id-grammar.js';
import {
  BATCH_ID_LENGTH_MAX,
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

/** JSON text of this many characters is within the byte limit: each character takes at most three bytes. */
const METADATA_CHARS_MAX = METADATA_BYTES_MAX / 3;
const metadataCheck: FieldCheck = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  isPlainData(value) &&
  JSON.stringify(value).length <= METADATA_CHARS_MAX;

const isTaskId = textCheck(200);
const isClaimId = textCheck(64);
const isRole = textCheck(64);
const isMessage = textCheck(2000);
const isGeneration = integerCheck(0, Number.MAX_SAFE_INTEGER);
const isLease = integerCheck(1, LEASE_SECONDS_MAX);
const isReleaseReason = oneOfCheck('VOLUNTARY', 'ERROR');

/**
 * Makes a reader for objects that have the required fields of a schema, and no fields without a check. The reader returns
 * the fields in the schema's order, because the digest of a request depends on it.
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
    let presentCount = 0;
    for (const { name, check, ifMissing } of fields) {
      const value = (body as Record<string, unknown>)[name];
      if (value === undefined) {
        if (!ifMissing.success) return null;
        if (ifMissing.data !== undefined) copy[name] = ifMissing.data;
      } else {
        if (!check(value)) return null;
        copy[name] = value;
        presentCount += 1;
      }
    }
    return Object.keys(body).length === presentCount ? copy : null;
  };
}

// Claims, renewals, releases and submissions run for every piece of work, so these functions read fields by fixed
// names: reading them by variable names costs more than all checks together.

type Body = Readonly<Record<string, unknown>>;
type Fields = Record<string, unknown>;

const isRecord = (body: unknown): body is Body => typeof body === 'object' && body !== null;
/**
 * Adds the request id, which every command may have as its last field. Null if the body has other fields than `fields` and
 * the request id. `fieldCount` is the number of `fields`.
 */
function withRequestId(body: Body, fields: Fields, fieldCount: number): Fields | null {
  const { request_id } = body;
  const { length } = Object.keys(body);
  if (request_id === undefined) return length === fieldCount ? fields : null;
  if (!idCheck(request_id) || length !== fieldCount + 1) return null;
  fields.request_id = request_id;
  return fields;
}

function readClaim(body: unknown): Fields | null {
  if (!isRecord(body)) return null;
  const { task_id, agent_id, session_id, lease_duration_seconds, agent_role, metadata } = body;
  if (!isTaskId(task_id) || !idCheck(agent_id) || !idCheck(session_id)) return null;
  const fields: Fields = { task_id, agent_id, session_id };
  let fieldCount = 3;
  if (lease_duration_seconds !== undefined) {
    if (!isLease(lease_duration_seconds)) return null;
    fields.lease_duration_seconds = lease_duration_seconds;
    fieldCount += 1;
  }
  if (agent_role !== undefined) {
    if (!isRole(agent_role)) return null;
    fields.agent_role = agent_role;
    fieldCount += 1;
  }
  if (metadata !== undefined) {
    if (!metadataCheck(metadata)) return null;
    fields.metadata = metadata;
    fieldCount += 1;
  }
  return withRequestId(body, fields, fieldCount);
}

/** The fields of a handle and their number; null if one of them is not valid. */
function readHandle({ task_id, session_id, claim_id }: Body): { fields: Fields; fieldCount: number } | null {
  if (!isTaskId(task_id) || !idCheck(session_id)) return null;
  if (claim_id === undefined) return { fields: { task_id, session_id }, fieldCount: 2 };
  return isClaimId(claim_id) ? { fields: { task_id, session_id, claim_id }, fieldCount: 3 } : null;
}

function readRenewal(body: unknown): Fields | null {
  if (!isRecord(body)) return null;
  const { expected_generation, lease_duration_seconds } = body;
  const handle = readHandle(body);
  if (handle === null || !isGeneration(expected_generation)) return null;
  const { fields } = handle;
  let fieldCount = handle.fieldCount + 1;
  fields.expected_generation = expected_generation;
  if (lease_duration_seconds !== undefined) {
    if (!isLease(lease_duration_seconds)) return null;
    fields.lease_duration_seconds = lease_duration_seconds;
    fieldCount += 1;
  }
  return withRequestId(body, fields, fieldCount);
}

function readRelease(body: unknown): Fields | null {
  if (!isRecord(body)) return null;
  const { expected_generation, reason, message } = body;
  const handle = readHandle(body);
  if (handle === null || !isGeneration(expected_generation)) return null;
  const { fields } = handle;
  let fieldCount = handle.fieldCount + 1;
  fields.expected_generation = expected_generation;
  fields.reason = 'VOLUNTARY';
  if (reason !== undefined) {
    if (!isReleaseReason(reason)) return null;
    fields.reason = reason;
    fieldCount += 1;
  }
  if (message !== undefined) {
    if (!isMessage(message)) return null;
    fields.message = message;
    fieldCount += 1;
  }
  return withRequestId(body, fields, fieldCount);
}

function readSubmission(body: unknown): Fields | null {
  if (!isRecord(body)) return null;
  const { generation, result_data, metadata } = body;
  const handle = readHandle(body);
  if (handle === null || !isGeneration(generation)) return null;
  if (result_data === undefined || !isPlainData(result_data)) return null;
  const { fields } = handle;
  let fieldCount = handle.fieldCount + 2;
  fields.generation = generation;
  fields.result_data = result_data;
  if (metadata !== undefined) {
    if (!metadataCheck(metadata)) return null;
    fields.metadata = metadata;
    fieldCount += 1;
  }
  return withRequestId(body, fields, fieldCount);
}

const readBatch = bodyReader(batchClaimBody, {
  claims: (claims) => Array.isArray(claims) && claims.length > 0 && claims.length <= BATCH_ITEMS_MAX,
  mode: oneOfCheck('partial', 'all_or_nothing'),
  request_id: (id) => idCheck(id) && (id as string).length <= BATCH_ID_LENGTH_MAX,
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
      lease_duration_seconds: isLease,
      request_id: idCheck,
    }),
  ],
  [renewBody, readRenewal],
  [releaseBody, readRelease],
  [submitBody, readSubmission],
]);

/**
 * Parses a frequent body in its common form, in a fraction of the schema's time, and returns exactly what the schema would
 * return. Null for every other body: the caller then parses it with the schema, which also explains what is wrong.
 */
export const parseBodyFastPath = <S extends z.ZodType>(schema: S, body: unknown): z.output<S> | null =>
  (READERS.get(schema)?.(body) as z.output<S> | undefined) ?? null;
