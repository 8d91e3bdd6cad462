import { z } from 'zod';
import { count, name, openObject, sentence } from './fields.js';

const keys = z.array(name).max(1000);
export const severity = z.enum(['critical', 'high', 'medium', 'low']);

/** What asks for a decision, and what became of it. */
export const intentEvents = {
  intent_raised: z.strictObject({
    intent_id: name,
    trigger: sentence,
    delta: sentence.exactOptional(),
    signal_source: name.exactOptional(),
    vector_type: name.exactOptional(),
    affected_req_keys: keys.exactOptional(),
    prior_intents: keys.exactOptional(),
    edge_context: name.exactOptional(),
    severity: severity.exactOptional(),
  }),
  spec_modified: z.strictObject({
    trigger_intent: name,
    signal_source: name.exactOptional(),
    what_changed: z.array(sentence).max(1000),
    affected_req_keys: keys.exactOptional(),
    spawned_vectors: keys.exactOptional(),
    prior_intents: keys.exactOptional(),
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

const zoomed = z.strictObject({
  /** The topology around the edge, as it was and as it is. */
  before: openObject,
  after: openObject,
  reason: sentence.exactOptional(),
});

/** An edge is looked at in steps of its own, or folded together again. */
export const zoomEvents = {
  graph_zoom_in: zoomed,
  graph_zoom_out: zoomed,
  graph_zoom_selective: zoomed,
};
