import { z } from 'zod';
import { alarmPayload } from '../audit/alarm.js';
import { bytes32 } from '../audit/audit-values.js';
import { anchorSchema, checkpointPayload } from '../audit/checkpoint.js';
import { historyLostPayload } from '../audit/history-lost.js';
import { keyEnrolledPayload, keyRevokedPayload } from '../audit/key-events.js';
import { recordSignature } from '../audit/signed-record.js';
import { candidateRecord, runnersRecord } from '../engine/evidence.js';
import { agentIdSchema, agentRoleSchema, tenantIdSchema } from '../ids.js';
import { featureSchema, methodologySchema } from '../methodology/definition/methodology.js';
import { TASKS_PER_EVENT_MAX } from '../plan/plan-change.js';
import type { TaskInput } from '../plan/task.js';
import { taskProposalSchema } from '../plan/task-proposal.js';
import { ROLES } from '../roles.js';
import { eventSha256, isoTimestamp, nameSchema, nonNegativeInteger, openObject, textUpTo } from './fields.js';

/** A plan change is split into chunks, so that the size of an event is bounded. */
const planChunk = <Item extends z.ZodType>(item: Item) => z.array(item).max(TASKS_PER_EVENT_MAX);
/** A task of a plan. It is checked together with the whole plan, where a fault can name its location. */
const plannedInput = openObject as unknown as z.ZodType<TaskInput>;
const changedRecord = <Value extends z.ZodType>(record: Value) => z.strictObject({ by: nameSchema, record });
const settingChanged = changedRecord(openObject);
const sessionRecord = z.strictObject({
  state: z.enum(['open', 'closed']),
  user_id: nameSchema.nullable(),
  /** The credential that opened the session. */
  principal: nameSchema.exactOptional(),
  public_key: textUpTo(1024).exactOptional(),
  created_at: isoTimestamp,
  closed_at: isoTimestamp.exactOptional(),
});
/** Record of a key: only the digest of its secret, and its last characters for recognition. */
const keyRecord = z.strictObject({
  state: z.enum(['active', 'revoked']),
  tenant_id: tenantIdSchema.nullable(),
  role: z.enum(ROLES),
  label: nameSchema.nullable(),
  user_id: agentIdSchema.nullable(),
  /** The agent role that the key is limited to. Absent: any. */
  agent_role: agentRoleSchema.exactOptional(),
  secret_sha256: eventSha256,
  last_four: textUpTo(4),
  created_at: isoTimestamp,
  created_by: nameSchema,
  expires_at: isoTimestamp.nullable(),
  revoked_at: isoTimestamp.exactOptional(),
  /** Proves that the store of this log created the key. Keys created before binding was introduced have none. */
  binding: eventSha256.exactOptional(),
});
export type KeyRecord = z.infer<typeof keyRecord>;
const keyChanged = changedRecord(keyRecord);
/** `principal`: the credential that made the change. */
const sessionChanged = z.strictObject({
  by: nameSchema.exactOptional(),
  principal: nameSchema.exactOptional(),
  record: sessionRecord,
});

export const REDACTED_PER_EVENT_MAX = 400;
/**
 * The events that retention has redacted. Their original digests no longer match, so the digests after redaction are
 * recorded: otherwise a later change to an old event could pass as retention.
 */
const historyRedacted = z.strictObject({
  before: isoTimestamp,
  retention_days: nonNegativeInteger,
  events: z
    .array(
      z.strictObject({
        position: nonNegativeInteger.min(1),
        payload_sha256: eventSha256,
        /** The digest before the redaction, in base64url. Missing in events from before there was an audit tree. */
        original_sha256: bytes32.exactOptional(),
      }),
    )
    .max(REDACTED_PER_EVENT_MAX),
  ...recordSignature,
});
export type HistoryRedacted = z.infer<typeof historyRedacted>;

/** Events about the project's own records, its log and its audit. `record`, if present, is the complete new value. */
export const recordEventSchemas = {
  PLAN_CHANGED: z.strictObject({
    version: nonNegativeInteger,
    added: planChunk(plannedInput),
    changed: planChunk(plannedInput),
    removed: planChunk(nameSchema),
    record: z.strictObject({ version: nonNegativeInteger, task_count: nonNegativeInteger }),
  }),
  TASKS_PROPOSED: changedRecord(taskProposalSchema),
  TASKS_PROPOSAL_DECIDED: changedRecord(taskProposalSchema),
  POLICY_CHANGED: settingChanged,
  LIMITS_CHANGED: settingChanged,
  HISTORY_FORGOTTEN: historyRedacted,
  HISTORY_LOST: historyLostPayload,
  AUDIT_ANCHOR_KEPT: anchorSchema,
  AUDIT_CHECKPOINT: checkpointPayload,
  AUDIT_ALARM: alarmPayload,
  AUDIT_KEY_ENROLLED: keyEnrolledPayload,
  AUDIT_KEY_REVOKED: keyRevokedPayload,
  METHODOLOGY_CHANGED: changedRecord(methodologySchema),
  FEATURE_CHANGED: changedRecord(featureSchema),
  SESSION_OPENED: sessionChanged,
  SESSION_CLOSED: sessionChanged,
  KEY_CREATED: keyChanged,
  KEY_REVOKED: keyChanged,
  KEY_BOUND: keyChanged,
  RUNNER_ENROLLED: changedRecord(runnersRecord),
  RUNNER_REVOKED: changedRecord(runnersRecord),
  CANDIDATE_PROPOSED: changedRecord(candidateRecord),
  EVIDENCE_RECORDED: changedRecord(candidateRecord),
  /** `edge`: the edge whose result was accepted, or for which the first candidate was proposed. */
  BASE_MOVED: changedRecord(z.strictObject({ edge: nameSchema })),
  KEY_BINDING_REQUIRED: changedRecord(z.strictObject({ required: z.literal(true) })),
};
