import type { EventEnvelope } from '../events/envelope.js';
import { type ClaimEventKind, claimEventKindOf } from './claim-event-kinds.js';
import type { Head } from './head.js';
import type { Limits, Policy } from './policy.js';

/** Minimum retention in days by regulation, whatever the tenant configures. */
const COMPLIANCE_DAYS = { hipaa: 6 * 365 + 2, soc2: 365, pci: 365 } as const;

/** Days for which the content of a project's events is kept. */
export function retentionDays(policy: Policy, limits: Limits): number {
  const { compliance_profile } = policy;
  const complianceDays = compliance_profile === null ? 0 : COMPLIANCE_DAYS[compliance_profile];
  return Math.max(limits.claim_history_retention_days, complianceDays);
}

/**
 * Payload fields with content, which retention removes. What happened, to whom, when and under which generation is kept
 * forever, so that heads can be folded and invariants checked.
 */
const CONTENT_FIELDS: Partial<Record<ClaimEventKind, readonly string[]>> = {
  granted: ['metadata'],
  released: ['message'],
  reviewed: ['comment', 'feedback'],
  accepted: ['result_data', 'result_metadata'],
  adopted: ['result_data', 'result_metadata'],
  escalated: ['result_data', 'result_metadata'],
  result_refused: ['result_data', 'result_metadata'],
  noted: ['text'],
};
const NON_CLAIM_CONTENT_FIELDS = ['source_findings', 'process_gaps'];

/** The event without its content fields; null if it has none, or if the event is still current. */
export function redactedEvent(event: EventEnvelope, head: Head | null): EventEnvelope | null {
  const kind = claimEventKindOf(event.event_type);
  const contentFields = kind === undefined ? NON_CLAIM_CONTENT_FIELDS : (CONTENT_FIELDS[kind] ?? []);
  const presentFields = contentFields.filter((field) => event.payload[field] !== undefined);
  if (presentFields.length === 0 || isCurrent(event, kind, head)) return null;
  const keptEntries = Object.entries(event.payload).filter(([field]) => !presentFields.includes(field));
  const payload = Object.fromEntries(keptEntries);
  // A redacted result can no longer be adopted.
  if (kind === 'result_refused') payload.parked = false;
  return { ...event, payload };
}

/** Whether the head depends on the event, or the event has the accepted result. As long as this is so, it is not redacted. */
function isCurrent(event: EventEnvelope, kind: ClaimEventKind | undefined, head: Head | null): boolean {
  if (head === null || kind === undefined) return false;
  if (event.payload.result_id !== undefined && event.payload.result_id === head.result?.result_id)
    return true;
  return event.seq !== undefined && event.generation === head.generation;
}
