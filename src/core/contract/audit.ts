import { z } from 'zod';
import { AUDIT_KEY_STATES } from '../audit/audit-keys.js';
import { auditKeyId } from '../audit/audit-values.js';
import { anchorSchema } from '../audit/checkpoint.js';
import { consistencyProof, inclusionProof } from '../audit/proof.js';
import { AUDIT_KEY_REFUSALS, AUDIT_KEY_SUCCESSES } from './codes.js';
import { type ApiOperations, jsonBody, PROJECT_PATH, readOperation } from './operation.js';
import {
  boundedText,
  count,
  mutationFields,
  namedObject,
  namedResult,
  nextStep,
  type ReplyOf,
} from './schema.js';

const position = z.coerce.number<string>().int().min(1);

/** A key that signs, or has signed, checkpoints of a project. */
const auditKey = namedObject('AuditKey', {
  key_id: z.string(),
  public_key: z.string(),
  state: z.enum(AUDIT_KEY_STATES),
  how: z.enum(['first', 'rotated', 'replaced']).describe('how it was enrolled'),
});
const auditKeyList = namedObject('AuditKeys', { keys: z.array(auditKey) });
export type AuditKeyList = ReplyOf<typeof auditKeyList>;

export const auditKeyBody = z.strictObject({
  key_id: auditKeyId,
  reason: boundedText(2000),
  ...mutationFields,
});
export type AuditKeyBody = z.infer<typeof auditKeyBody>;

const auditKeyResult = namedResult('AuditKeyResult', [
  z.object({
    success: z.literal(true),
    reason: z.enum(AUDIT_KEY_SUCCESSES),
    keys: z.array(auditKey),
    next: nextStep.exactOptional(),
  }),
  z.object({
    success: z.literal(false),
    reason: z.enum(AUDIT_KEY_REFUSALS),
    keys: z.array(auditKey),
    next: nextStep,
  }),
]);
export type AuditKeyResult = ReplyOf<typeof auditKeyResult>;

const logViolation = z.object({
  file: z.string(),
  line: count,
  last_line: count.exactOptional(),
  rule: z.string(),
  subject: z.string().nullable(),
  says: z.string(),
});
const logVerification = namedObject('LogVerification', {
  is_valid: z.boolean(),
  events: count,
  subjects: count,
  /**
   * The number of signed checkpoints without a fault. `covered_position`: the last position that an agreeing checkpoint covers,
   * before any checkpoint that differs.
   */
  checkpoints: count,
  covered_position: count,
  /** The number of session signatures that were checked. */
  signatures: count,
  breaks: z.array(logViolation).describe('at most 100, plus all that concern checkpoints'),
  notes: z.array(logViolation).describe('observations that are no violations by themselves; at most 100'),
});
export type LogVerification = ReplyOf<typeof logVerification>;

const keyOperation = (path: string, summary: string) =>
  ({
    method: 'POST',
    path: `${PROJECT_PATH}/audit/keys/${path}`,
    action: 'administer',
    summary,
    body: jsonBody(auditKeyBody),
    reply: auditKeyResult,
    isRefusable: true,
  }) as const;

export const auditOperations = {
  audit_head: readOperation(`${PROJECT_PATH}/audit/head`, 'Get the last signed checkpoint of the log', {
    reply: anchorSchema,
  }),
  audit_proof: readOperation(
    `${PROJECT_PATH}/audit/proof`,
    'Prove that the event at a position is in the log of the last checkpoint',
    { query: z.strictObject({ position }), reply: inclusionProof },
  ),
  audit_consistency: readOperation(
    `${PROJECT_PATH}/audit/consistency`,
    'Prove that the log at a checkpoint is a prefix of the log at a later checkpoint, by default the last',
    { query: z.strictObject({ from: position, to: position.exactOptional() }), reply: consistencyProof },
  ),
  audit_keys: readOperation(
    `${PROJECT_PATH}/audit/keys`,
    'List the audit keys that were ever enrolled in the log, with the state of each',
    {
      reply: auditKeyList,
    },
  ),
  audit_replace_key: keyOperation(
    'replace',
    "Revoke a lost audit key and enrol the server's current key in its place",
  ),
  verify_log: {
    method: 'POST',
    path: `${PROJECT_PATH}/audit/verify`,
    action: 'administer',
    summary:
      'Replay the events of the project and check order, invariants, checkpoints and signatures. A server handles one such request at a time and stops it when the client disconnects',
    body: jsonBody(z.strictObject(mutationFields)),
    reply: logVerification,
  },
  audit_revoke_key: keyOperation(
    'revoke',
    'Revoke an audit key; signatures that it makes from now on are invalid',
  ),
} as const satisfies ApiOperations;
