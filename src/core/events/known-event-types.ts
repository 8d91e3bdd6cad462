import { CATALOGUE_TYPES } from './catalogue-types.js';

/** Types that other tools of this family write in addition to our catalogue. */
const FOREIGN_TYPES = [
  'affect_triage',
  'artifact_modified',
  'command_error',
  'draft_proposal',
  'encoding_escalated',
  'escalation_queue_reviewed',
  'escalation_resolved',
  'escalation_timeout',
  'evaluator_detail',
  'exteroceptive_signal',
  'feature_proposal',
  'foreign_line',
  'gap_detected',
  'health_checked',
  'intent_raised',
  'interoceptive_signal',
  'iteration_abandoned',
  'observer_signal',
  'spec_modified',
] as const;

const KNOWN_TYPES: ReadonlySet<string> = new Set([...CATALOGUE_TYPES, ...FOREIGN_TYPES]);

/** Whether the meaning of an event type is known. Events of unknown types are kept too. */
export const isKnownEventType = (eventType: string): boolean => KNOWN_TYPES.has(eventType);
