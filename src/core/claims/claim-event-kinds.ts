import type { EventDraft } from '../events/envelope.js';
import { subjectKindOf } from '../subject.js';

/**
 * Event types per kind of claim event: tasks use the names of specification 004, edges the names of specifications 000 to
 * 002. One table keeps the two vocabularies equivalent.
 */
export const EVENT_TYPES = {
  granted: { task: 'CLAIM_ACQUIRED', edge: 'edge_started' },
  renewed: { task: 'LEASE_RENEWED', edge: 'heartbeat' },
  lost: { task: 'CLAIM_LOST', edge: 'claim_expired' },
  released: { task: 'CLAIM_RELEASED', edge: 'edge_released' },
  suspended: { task: 'CLAIM_SUSPENDED', edge: 'claim_suspended' },
  resumed: { task: 'CLAIM_RESUMED', edge: 'claim_resumed' },
  accepted: { task: 'RESULT_SUBMITTED', edge: 'edge_converged' },
  adopted: { task: 'RESULT_ADOPTED', edge: 'result_adopted' },
  escalated: { task: 'RESULT_ESCALATED', edge: 'convergence_escalated' },
  /** Written with the event type of an escalation and `action: 'warn'`: see `isLooseEvent`. */
  warned: { task: 'RESULT_ESCALATED', edge: 'convergence_escalated' },
  reviewed: { task: 'REVIEW_COMPLETED', edge: 'review_completed' },
  held: { task: 'TASK_HELD', edge: 'edge_held' },
  unheld: { task: 'TASK_UNHELD', edge: 'edge_unheld' },
  reset: { task: 'TASK_RESET', edge: 'edge_reset' },
  claim_refused: { task: 'CLAIM_REJECTED', edge: 'claim_rejected' },
  result_refused: { task: 'RESULT_REJECTED', edge: 'result_rejected' },
  /** Refusals of one principal that are only counted: see `recordingOfRefusal`. */
  refusals_counted: { task: 'REFUSALS_COUNTED', edge: 'refusals_counted' },
  noted: { task: 'NOTE_ADDED', edge: 'note_added' },
} as const;

export type ClaimEventKind = keyof typeof EVENT_TYPES;

const LOOSE_KINDS = ['claim_refused', 'result_refused', 'refusals_counted', 'noted', 'warned'] as const;
/** Kinds of the events that change no head. */
export type LooseEventKind = (typeof LOOSE_KINDS)[number];

/** Whether an event records a refusal, a note or a warning. Such an event changes no head and carries no seq. */
export function isLooseEvent({ event_type, payload }: Pick<EventDraft, 'event_type' | 'payload'>): boolean {
  const kind = claimEventKindOf(event_type);
  if (kind === 'escalated') return payload.action === 'warn';
  return LOOSE_KINDS.some((looseKind) => looseKind === kind);
}

export function claimEventType(kind: ClaimEventKind, subject: string): string {
  return EVENT_TYPES[kind][subjectKindOf(subject) === 'edge' ? 'edge' : 'task'];
}

const KIND_BY_EVENT_TYPE = new Map<string, ClaimEventKind>(
  (Object.keys(EVENT_TYPES) as ClaimEventKind[])
    .filter((kind) => kind !== 'warned')
    .flatMap((kind) => Object.values(EVENT_TYPES[kind]).map((type) => [type, kind] as const)),
);

export const CLAIM_EVENT_TYPES: readonly string[] = [...KIND_BY_EVENT_TYPE.keys()];

/** Kind of a claim event, with a warning as `escalated`, because the event type is the same; undefined for other events. */
export const claimEventKindOf = (eventType: string): ClaimEventKind | undefined =>
  KIND_BY_EVENT_TYPE.get(eventType);
