import type { AcceptedResult, Head, LastClaim } from '../claims/head.js';
import { workProductRef } from '../plan/work-product.js';

/**
 * The head of completed work as a line of text: a JSON array without field names. The times that every claim and result has are
 * in milliseconds relative to the last event, mostly negative. Optional fields are omitted if all have their defaults. The line
 * is much smaller than the object, and adds no objects for the garbage collector.
 */
export function packHead(head: Head): string {
  const { subject, seq, generation, epoch, claim, result, last_at_ms } = head;
  const { hold, gate, failures, last_error, retry_at_ms } = head;
  const row: HeadRow = [
    subject,
    seq,
    generation,
    epoch,
    last_at_ms,
    claim === null ? null : packClaim(claim, last_at_ms),
    result === null ? null : packResult(result, head),
    ...omitDefaults([hold, gate, failures, last_error, retry_at_ms] as const, DEFAULT_HEAD_FIELDS),
  ];
  return JSON.stringify(row);
}

export function unpackHead(line: string): Head {
  const [subject, seq, generation, epoch, last_at_ms, claimRow, resultRow, ...optionalFields] = JSON.parse(
    line,
  ) as HeadRow;
  const [hold, gate, failures, last_error, retry_at_ms] =
    optionalFields.length === 0 ? DEFAULT_HEAD_FIELDS : optionalFields;
  const claim = claimRow === null ? null : unpackClaim(claimRow, last_at_ms);
  const result =
    resultRow === null ? null : unpackResult(resultRow, { subject, generation, claim, last_at_ms });
  return {
    subject,
    seq,
    generation,
    epoch,
    phase: 'COMPLETED',
    claim,
    result,
    hold,
    gate,
    failures,
    last_error,
    retry_at_ms,
    last_at_ms,
  };
}

const SUBJECT_START = '["'.length;

/** The subject of a packed head, without parsing the rest. */
export function packedSubject(line: string): string {
  const subject = line.slice(SUBJECT_START, line.indexOf('"', SUBJECT_START));
  return subject.includes('\\') ? unpackHead(line).subject : subject;
}

type HeadRow = [
  subject: string,
  seq: number,
  generation: number,
  epoch: number,
  last_at_ms: number,
  claim: ClaimRow | null,
  result: ResultRow | null,
  ...optionalFields: OptionalHeadFields | [],
];
type OptionalHeadFields = readonly [
  hold: Head['hold'],
  gate: Head['gate'],
  failures: number,
  last_error: string | null,
  retry_at_ms: number | null,
];
const DEFAULT_HEAD_FIELDS: OptionalHeadFields = [null, null, 0, null, null];

type ClaimRow = [
  agent_id: string,
  session_id: string,
  request_id: string | null,
  lease_seconds: number | null,
  claimedAfterMs: number,
  activeAfterMs: number,
  expiresAfterMs: number | null,
  ...optionalFields: OptionalClaimFields | [],
];
type OptionalClaimFields = readonly [
  state: LastClaim['state'],
  release_reason: LastClaim['release_reason'],
  agent_role: string | null,
  user_id: string | null,
  max_hold_until_ms: number | null,
  suspended_until_ms: number | null,
  stale: boolean,
  inputs: string | null,
  metadata: LastClaim['metadata'],
  principal: string | null,
];
const DEFAULT_CLAIM_FIELDS: OptionalClaimFields = [
  'RELEASED',
  'COMPLETED',
  null,
  null,
  null,
  null,
  false,
  null,
  null,
  null,
];

function packClaim(claim: LastClaim, lastAtMs: number): ClaimRow {
  const { agent_id, session_id, request_id, lease_seconds, claimed_at_ms, active_at_ms, expires_at_ms } =
    claim;
  const { state, release_reason, agent_role, user_id, max_hold_until_ms, suspended_until_ms } = claim;
  const { stale, inputs, metadata, principal = null } = claim;
  return [
    agent_id,
    session_id,
    request_id,
    lease_seconds,
    claimed_at_ms - lastAtMs,
    active_at_ms - lastAtMs,
    expires_at_ms === null ? null : expires_at_ms - lastAtMs,
    ...omitDefaults(
      [
        state,
        release_reason,
        agent_role,
        user_id,
        max_hold_until_ms,
        suspended_until_ms,
        stale,
        inputs,
        metadata,
        principal,
      ] as const,
      DEFAULT_CLAIM_FIELDS,
    ),
  ];
}

function unpackClaim(row: ClaimRow, lastAtMs: number): LastClaim {
  const [
    agent_id,
    session_id,
    request_id,
    lease_seconds,
    claimedAfterMs,
    activeAfterMs,
    expiresAfterMs,
    ...optionalFields
  ] = row;
  const [
    state,
    release_reason,
    agent_role,
    user_id,
    max_hold_until_ms,
    suspended_until_ms,
    stale,
    inputs,
    metadata,
    principal = null,
  ] = optionalFields.length === 0 ? DEFAULT_CLAIM_FIELDS : optionalFields;
  return {
    state,
    agent_id,
    session_id,
    agent_role,
    user_id,
    ...(principal === null ? {} : { principal }),
    request_id,
    claimed_at_ms: lastAtMs + claimedAfterMs,
    lease_seconds,
    expires_at_ms: expiresAfterMs === null ? null : lastAtMs + expiresAfterMs,
    active_at_ms: lastAtMs + activeAfterMs,
    max_hold_until_ms,
    suspended_until_ms,
    stale,
    release_reason,
    inputs,
    metadata,
  };
}

type ResultRow = [
  result_id: string,
  sha256: string,
  submittedAfterMs: number,
  ...optionalFields: OptionalResultFields | [],
];
type OptionalResultFields = readonly [
  generation: number,
  agent_id: string,
  session_id: string,
  work_product_ref: string,
];
type ResultSource = Pick<Head, 'subject' | 'generation' | 'claim' | 'last_at_ms'>;

function packResult(result: AcceptedResult, head: Head): ResultRow {
  const { result_id, sha256, generation, agent_id, session_id, work_product_ref } = result;
  return [
    result_id,
    sha256,
    result.submitted_at_ms - head.last_at_ms,
    ...omitDefaults(
      [generation, agent_id, session_id, work_product_ref] as const,
      defaultResultFields(head, sha256),
    ),
  ];
}

function unpackResult(
  [result_id, sha256, submittedAfterMs, ...optionalFields]: ResultRow,
  head: ResultSource,
): AcceptedResult {
  const [generation, agent_id, session_id, work_product_ref] =
    optionalFields.length === 0 ? defaultResultFields(head, sha256) : optionalFields;
  const submitted_at_ms = head.last_at_ms + submittedAfterMs;
  return { result_id, generation, agent_id, session_id, sha256, work_product_ref, submitted_at_ms };
}

/** The fields of a result that the holder of the last claim submitted. They follow from the claim. */
const defaultResultFields = (
  { subject, generation, claim }: ResultSource,
  sha256: string,
): OptionalResultFields => [
  generation,
  claim?.agent_id ?? '',
  claim?.session_id ?? '',
  workProductRef(subject, generation, sha256),
];

/** The values; empty if all are the defaults. A loop, because a callback per value takes several times as long. */
function omitDefaults<T extends readonly unknown[]>(values: T, defaults: T): T | [] {
  for (let index = 0; index < values.length; index += 1) if (values[index] !== defaults[index]) return values;
  return [];
}
