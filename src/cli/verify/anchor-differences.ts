import { payloadDigest } from '../../coordinator/audit/audit-hash.js';
import type { AnchorLine } from '../../core/audit/checkpoint.js';
import { OriginalDigests } from '../../core/audit/original-digests.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { auditViolations, CheckpointAudit } from './checkpoint-audit.js';

const PAGE_SIZE = 1000;

/** The original payload digests of redacted events. The log records them after the events that they are about. */
export async function originalDigests(store: Store, projectKey: ProjectKey): Promise<OriginalDigests> {
  const originals = new OriginalDigests();
  for (let after = 0; ; ) {
    const events = await store.events(projectKey, { subject: HISTORY_SUBJECT, after, limit: PAGE_SIZE });
    for (const event of events) originals.visit(event);
    if (events.length < PAGE_SIZE) return originals;
    after = events.at(-1)?.position ?? after;
  }
}

/** An event of a store with the digest of its payload as it was written. */
export function withDigest(event: EventEnvelope, originals: OriginalDigests) {
  const original = originals.of(event.position);
  return {
    event,
    payload_sha256: original ?? payloadDigest(event.payload),
    isRedacted: original !== null,
  };
}

/** How the logs of a store differ from anchors, a sentence for each difference. Reads every log that an anchor is of. */
export async function differencesFromAnchors(
  store: Store,
  anchors: readonly AnchorLine[],
): Promise<string[]> {
  const projects = new Map(anchors.map((anchor) => [`${anchor.tenant_id}/${anchor.project_id}`, anchor]));
  const differences: string[] = [];
  for (const [name, { tenant_id, project_id, position }] of projects) {
    const audit = new CheckpointAudit(anchors);
    await visitAll(store, { tenant_id, project_id }, audit);
    const result = audit.result();
    if (result === null)
      differences.push(`${name}: there is no log, and the anchor covers ${position} events`);
    else
      differences.push(...auditViolations(result, name).map(({ rule, says }) => `${name}: ${rule}: ${says}`));
  }
  return differences;
}

async function visitAll(store: Store, projectKey: ProjectKey, audit: CheckpointAudit): Promise<void> {
  const originals = await originalDigests(store, projectKey);
  for (let after = 0; ; ) {
    const events = await store.events(projectKey, { after, limit: PAGE_SIZE });
    for (const event of events) audit.visit(withDigest(event, originals));
    if (events.length < PAGE_SIZE) return;
    after = events.at(-1)?.position ?? after;
  }
}
