import { createHash } from 'node:crypto';
import { OriginalDigests } from '../../../core/audit/original-digests.js';
import type { EventEnvelope } from '../../../core/events/envelope.js';
import { HISTORY_SUBJECT } from '../../../core/subject.js';
import { readStoreEvents } from '../../../stores/read-store-events.js';
import type { ProjectKey, Store } from '../../../stores/store.js';
import type { AuditedEvent } from './checkpoint-audit.js';

/** The original payload digests of redacted events. The log records them after the events that they are about. */
export async function originalDigests(
  store: Pick<Store, 'events'>,
  projectKey: ProjectKey,
): Promise<OriginalDigests> {
  const originals = new OriginalDigests();
  for await (const event of readStoreEvents(store, projectKey, { subject: HISTORY_SUBJECT }))
    originals.visit(event);
  return originals;
}

/**
 * An event of a store with the digest of its payload as it was written. For a redacted event the log also records the
 * digest of the payload that redaction left. A payload with neither of these two digests was changed otherwise: the event
 * then gets its current digest, which differs from the signed one.
 */
export function withDigest(event: EventEnvelope, originals: OriginalDigests): AuditedEvent {
  const digest = createHash('sha256').update(JSON.stringify(event.payload)).digest();
  const currentDigest = digest.toString('base64url');
  const original = originals.digestAt(event.position);
  const isRedacted =
    original !== null &&
    (currentDigest === original || digest.toString('hex') === originals.remainingDigestAt(event.position));
  return { event, payload_sha256: isRedacted ? original : currentDigest, isRedacted };
}
