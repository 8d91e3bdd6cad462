import { CLAIM_EVENT_TYPES } from '../claims/claim-event-kinds.js';

/** Records which payloads retention has redacted. */
export const REDACTION_EVENT = 'HISTORY_FORGOTTEN';

/**
 * The types of the catalogue, by name only: loading the schemas takes longer than reading ten thousand lines, and readers
 * of a log do not need them. A test keeps this list and the catalogue in sync.
 */
export const CATALOGUE_TYPES: ReadonlySet<string> = new Set([
  ...CLAIM_EVENT_TYPES,
  REDACTION_EVENT,
  'HISTORY_LOST',
  'AUDIT_ALARM',
  'AUDIT_ANCHOR_KEPT',
  'AUDIT_CHECKPOINT',
  'AUDIT_KEY_ENROLLED',
  'AUDIT_KEY_REVOKED',
  'project_initialized',
  'iteration_completed',
  'spawn_created',
  'spawn_folded_back',
  'checkpoint_created',
  'gaps_validated',
  'release_created',
  'evaluator_detail',
  'iteration_abandoned',
  'intent_raised',
  'spec_modified',
  'escalation_resolved',
  'escalation_queue_reviewed',
  'encoding_escalated',
  'graph_zoom_in',
  'graph_zoom_out',
  'graph_zoom_selective',
  'health_checked',
  'run_requested',
  'run_started',
  'run_step_started',
  'run_step_completed',
  'run_step_failed',
  'run_suspended',
  'run_ended',
  'PLAN_CHANGED',
  'TASKS_PROPOSED',
  'TASKS_PROPOSAL_DECIDED',
  'POLICY_CHANGED',
  'LIMITS_CHANGED',
  'METHODOLOGY_CHANGED',
  'FEATURE_CHANGED',
  'SESSION_OPENED',
  'SESSION_CLOSED',
  'KEY_CREATED',
  'KEY_REVOKED',
  'KEY_BOUND',
  'KEY_BINDING_REQUIRED',
  'RUNNER_ENROLLED',
  'RUNNER_REVOKED',
  'CANDIDATE_PROPOSED',
  'EVIDENCE_RECORDED',
  'BASE_MOVED',
  'review_notified',
  'review_notice_failed',
  'escalation_timeout',
]);
/** Types beyond our catalogue that an import brings: those of other Genesis tools, and `foreign_line` for unreadable lines. */
const FOREIGN_TYPES = [
  'affect_triage',
  'artifact_modified',
  'command_error',
  'convergence_achieved',
  'draft_proposal',
  'exteroceptive_signal',
  'feature_converged',
  'feature_proposal',
  'feature_spawned',
  'foreign_line',
  'gap_detected',
  'human_review_completed',
  'intent_resolved',
  'interoceptive_signal',
  'iteration_failed',
  'iteration_started',
  'observer_signal',
  'review_approved',
  'review_rejected',
] as const;

const KNOWN_TYPES: ReadonlySet<string> = new Set([...CATALOGUE_TYPES, ...FOREIGN_TYPES]);

/** Whether the meaning of an event type is known. Events of unknown types are kept too. */
export const isKnownEventType = (eventType: string): boolean => KNOWN_TYPES.has(eventType);
