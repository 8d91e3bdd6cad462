import { auditKeyId, bytes64, type ProjectIds } from './audit-values.js';

/**
 * The signature of a record that only a coordinator may write, made with its audit key. Without it, a writer to the
 * database could record an excuse for the events it removed. Missing if the coordinator signs nothing.
 */
export const recordSignature = { key_id: auditKeyId.exactOptional(), signature: bytes64.exactOptional() };

export interface RecordSignature {
  readonly key_id: string;
  readonly signature: string;
}

/** The signed text: the event type, the project, the key, and all other fields of the record except the signature. */
export function signedRecordText(
  { tenant_id, project_id }: ProjectIds,
  eventType: string,
  { key_id, signature: _, ...signedFields }: Readonly<Record<string, unknown>>,
): string {
  const statement = JSON.stringify(signedFields);
  return ['genesis-fleet record 1', eventType, tenant_id, project_id, key_id, statement].join('\n');
}
