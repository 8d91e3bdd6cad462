import { z } from 'zod';
import type { EventEnvelope } from '../events/envelope.js';
import { eventSha256, nonNegativeInteger } from '../events/fields.js';
import { REDACTION_EVENT } from '../events/known-event-types.js';
import { HISTORY_SUBJECT } from '../subject.js';
import { bytes32 } from './audit-values.js';

/** The fields of a redaction event that are read here. Entries of earlier versions have no original digest. */
const redactionPayload = z.object({
  events: z.array(
    z.object({
      position: nonNegativeInteger.min(1),
      payload_sha256: eventSha256,
      original_sha256: bytes32.optional(),
    }),
  ),
});

/**
 * Digests of payloads before redaction. The Merkle leaves use these, so redaction does not change the tree. If an event was
 * redacted more than once, its leaf uses the earliest digest. The digests are collected in a first pass over the log,
 * because a redaction comes later in the log than the event that it redacts.
 */
export class OriginalDigests {
  private readonly digests = new Map<number, string>();
  private readonly remainingDigests = new Map<number, string>();

  visit(event: EventEnvelope): void {
    // Only the coordinator writes events about this subject; an imported event of this type has no subject.
    if (event.event_type !== REDACTION_EVENT || event.subject !== HISTORY_SUBJECT) return;
    const parsed = redactionPayload.safeParse(event.payload);
    if (!parsed.success) return;
    for (const { position, payload_sha256, original_sha256 } of parsed.data.events) {
      // A redaction can only be about the past.
      if (original_sha256 === undefined || position >= event.position) continue;
      if (!this.digests.has(position)) this.digests.set(position, original_sha256);
      this.remainingDigests.set(position, payload_sha256);
    }
  }

  /** The digest of the payload before its redaction; null if the log records none. */
  digestAt(position: number): string | null {
    return this.digests.get(position) ?? null;
  }

  /** The digest of what the last redaction left of the payload, in hex; null where `digestAt` is null. */
  remainingDigestAt(position: number): string | null {
    return this.remainingDigests.get(position) ?? null;
  }
}
