import { z } from 'zod';
import { CHECK_RESULTS } from '../methodology/definition/convergence.js';
import { count, name, openObject, sentence } from './fields.js';

/** Events within an iteration, including its abandonment. */
export const iterationEventSchemas = {
  evaluator_detail: z.strictObject({
    iteration: count.exactOptional(),
    check_name: name,
    check_type: name.exactOptional(),
    result: z.enum(CHECK_RESULTS),
    expected: sentence.exactOptional(),
    observed: sentence.exactOptional(),
    command: sentence.exactOptional(),
  }),
  iteration_abandoned: z.strictObject({
    iteration: count.exactOptional(),
    reason: sentence,
    last_event_at: name.exactOptional(),
  }),
};

/** A health check of the workspace was run. */
export const healthEventSchemas = {
  health_checked: z.strictObject({
    passed: count,
    failed: count,
    checks: z.array(openObject).max(1000).exactOptional(),
    recommended_actions: z.array(sentence).max(100).exactOptional(),
  }),
};
