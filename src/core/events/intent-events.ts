import { z } from 'zod';
import { count, name, openObject, sentence } from './fields.js';

const requirementKeys = z.array(name).max(1000);
export const severity = z.enum(['critical', 'high', 'medium', 'low']);

/** Events that request a decision, and their outcomes. */
export const intentEventSchemas = {
  intent_raised: z.strictObject({
    intent_id: name,
    trigger: sentence,
    delta: sentence.exactOptional(),
    signal_source: name.exactOptional(),
    vector_type: name.exactOptional(),
    affected_req_keys: requirementKeys.exactOptional(),
    prior_intents: requirementKeys.exactOptional(),
    edge_context: name.exactOptional(),
    severity: severity.exactOptional(),
  }),
  spec_modified: z.strictObject({
    trigger_intent: name,
    signal_source: name.exactOptional(),
    what_changed: z.array(sentence).max(1000),
    affected_req_keys: requirementKeys.exactOptional(),
    spawned_vectors: requirementKeys.exactOptional(),
    prior_intents: requirementKeys.exactOptional(),
  }),
  escalation_resolved: z.strictObject({
    escalation_type: z.enum([
      'stuck',
      'tolerance',
      'intent',
      'review',
      'max_iteration',
      'stale_claim',
      'time_box',
    ]),
    action: z.enum(['spawn', 'force_iterate', 'relax', 'review', 'dismiss']),
    reason: sentence.exactOptional(),
    intent_id: name.exactOptional(),
  }),
  escalation_queue_reviewed: z.strictObject({
    queue_size: count,
    items_processed: count,
    actions_taken: z.record(name, count).exactOptional(),
    oldest_unresolved_days: z.number().nonnegative().exactOptional(),
    severity_distribution: z.record(name, count).exactOptional(),
  }),
  encoding_escalated: z.strictObject({
    iteration: count.exactOptional(),
    functional_unit: name,
    from_category: name,
    to_category: name,
    trigger: sentence,
  }),
};

const zoomPayload = z.strictObject({
  /** The topology around the edge, before and after. */
  before: openObject,
  after: openObject,
  reason: sentence.exactOptional(),
});

/** An edge is expanded into steps of its own, or collapsed again. */
export const zoomEventSchemas = {
  graph_zoom_in: zoomPayload,
  graph_zoom_out: zoomPayload,
  graph_zoom_selective: zoomPayload,
};
