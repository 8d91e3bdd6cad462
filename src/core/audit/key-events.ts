import { z } from 'zod';
import { nameSchema, sentenceSchema } from '../events/fields.js';
import { auditKeyId, bytes32, bytes64, type ProjectIds } from './audit-values.js';

const keyFields = { key_id: auditKeyId, public_key: bytes32 };

/** The payload of `AUDIT_KEY_ENROLLED`: a new key of the project, and how it was enrolled. */
export const keyEnrolledPayload = z.discriminatedUnion('how', [
  /** Enrolled by a coordinator itself. Each coordinator of a store has its own key, so there can be several. */
  z.strictObject({ ...keyFields, how: z.literal('first') }),
  /** Signed by the previous key, which is then retired. */
  z.strictObject({
    ...keyFields,
    how: z.literal('rotated'),
    previous_key_id: auditKeyId,
    signature: bytes64,
  }),
  /** Enrolled by an administrator, because an earlier key is lost or no longer trusted. */
  z.strictObject({ ...keyFields, how: z.literal('replaced'), by: nameSchema, reason: sentenceSchema }),
]);
export type KeyEnrolled = z.infer<typeof keyEnrolledPayload>;

/** The payload of `AUDIT_KEY_REVOKED`. */
export const keyRevokedPayload = z.strictObject({
  key_id: auditKeyId,
  by: nameSchema,
  reason: sentenceSchema,
});
export type KeyRevoked = z.infer<typeof keyRevokedPayload>;

export const KEY_ENROLLED_EVENT = 'AUDIT_KEY_ENROLLED';
export const KEY_REVOKED_EVENT = 'AUDIT_KEY_REVOKED';
export const CHECKPOINT_EVENT = 'AUDIT_CHECKPOINT';
/** A checkpoint of another store, kept in this one. Its payload is the checkpoint as an anchor. */
export const ANCHOR_KEPT_EVENT = 'AUDIT_ANCHOR_KEPT';

interface KeyRotation {
  readonly previous_key_id: string;
  readonly key_id: string;
  readonly public_key: string;
}

/** The text that the previous key signs. */
export const rotationText = (
  { tenant_id, project_id }: ProjectIds,
  { previous_key_id, key_id, public_key }: KeyRotation,
): string =>
  ['genesis-fleet audit key 1', tenant_id, project_id, previous_key_id, key_id, public_key].join('\n');
