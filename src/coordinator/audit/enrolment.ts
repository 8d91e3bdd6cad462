import type { AuditKeys } from '../../core/audit/audit-keys.js';
import type { ProjectIds } from '../../core/audit/audit-values.js';
import { type KeyEnrolled, rotationText } from '../../core/audit/key-events.js';
import { type AuditOptions, signWith } from './signer.js';

/** Why the key of this coordinator cannot be enrolled in a project, and what to do. */
interface EnrolmentAlarm {
  readonly alarm: string;
}

/** The enrolment of this coordinator's key in a project where the key is not active, or why it cannot be enrolled. */
export async function enrolmentOf(
  keys: AuditKeys,
  project: ProjectIds,
  { signer, previousSigners = [] }: Pick<AuditOptions, 'signer' | 'previousSigners'>,
): Promise<KeyEnrolled | EnrolmentAlarm> {
  const { key_id, public_key } = signer;
  if (keys.publicKeyOf(key_id) !== null) return { alarm: endedText(keys, key_id) };
  const previous = previousSigners.find((each) => keys.isActive(each.key_id));
  if (previous !== undefined) {
    const rotation = { key_id, public_key, previous_key_id: previous.key_id };
    const signature = await signWith(previous, rotationText(project, rotation));
    return { ...rotation, how: 'rotated', signature };
  }
  return keys.hasOnlyInactiveKeys ? { alarm: noActiveKeyText(keys) } : { key_id, public_key, how: 'first' };
}

/** The command names the newest key only as an example: all keys have ended, so the administrator may name any. */
export const noActiveKeyText = (keys: AuditKeys): string =>
  'Every audit key of the project is revoked or rotated. An administrator must run ' +
  `gen audit replace ${keys.list().at(-1)?.key_id ?? 'KEY_ID'} --reason TEXT; until then no checkpoint is written.`;

const endedText = (keys: AuditKeys, keyId: string): string =>
  'This coordinator writes no checkpoint, because the key it signs with has ended: ' +
  `${keys.inactiveFault(keyId)?.detail ?? ''}. ` +
  'Restart the coordinator with the new key of the project. If there is no new key, create one: gen audit rotate. ' +
  (keys.hasOnlyInactiveKeys
    ? `Then an administrator must run: gen audit replace ${keyId} --reason TEXT`
    : '');
