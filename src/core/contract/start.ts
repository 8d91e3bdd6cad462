import { z } from 'zod';
import { agentIdSchema, requestIdSchema } from '../ids.js';
import { evidencePolicyStatus } from './checks.js';
import { anyText, edgeName, featureId, severity, singleLineText } from './methodology-fields.js';
import { count, positionFields, type ReplyOf, time, withName } from './schema.js';
import { WORKSPACE_STATES } from './values.js';

export const startBody = z.strictObject({
  feature: featureId.optional(),
  edge: edgeName.optional(),
  profile: singleLineText(64).optional(),
  agent_id: agentIdSchema.optional(),
  agent_role: singleLineText(64).optional(),
  dry_run: z.boolean().optional(),
  request_id: requestIdSchema.optional(),
});
export const ESCALATION_KINDS = [
  'review',
  'escalation',
  'suspended',
  'hold',
  'intent',
  'stuck',
  'stale_claim',
  'time_box',
  'max_iterations',
] as const;
/** Something that waits for a person. */
export const escalation = withName(
  'Escalation',
  z.object({
    kind: z.enum(ESCALATION_KINDS),
    feature_id: anyText.nullable(),
    edge: anyText.nullable(),
    severity,
    since: time,
    says: anyText,
    next: anyText.describe('command that resolves it'),
  }),
);
/** Another feature in work, and the modules that both touch. */
const overlappingWork = withName(
  'OverlappingWork',
  z.object({
    feature_id: anyText,
    edge: anyText,
    agent_id: anyText,
    inner_product: count
      .nullable()
      .describe('number of shared modules (name from the specification); null if unknown'),
    shared_modules: z.array(anyText),
    says: anyText,
  }),
);
/** Advice on what to do next, with reasons. Not binding: only a claim decides. */
const routeAdvice = z.object({
  state: z.enum(WORKSPACE_STATES),
  feature: anyText.nullable(),
  edge: anyText.nullable(),
  /** The iteration that would start. */
  iteration: count.nullable(),
  /** One sentence each, in the order of the decision. */
  reasons: z.array(anyText),
  skipped: z.array(z.object({ feature: anyText, edge: anyText.nullable(), says: anyText })),
  /** Items that wait for a person; these come first. */
  escalations: z.array(escalation),
  parallel: z.array(overlappingWork),
  /** Set if the request cannot be met, or if `parallelism.enforce` forbids it. */
  refused: anyText.nullable(),
  /** The next action, as a command. */
  next: anyText,
});
export const startReply = withName(
  'Start',
  routeAdvice.extend({
    /** Always null: this call executes nothing. */
    execution_id: z.null(),
    /** The reasons joined into one line. */
    routing_reason: anyText,
    evidence: evidencePolicyStatus,
    ...positionFields,
  }),
);
export type StartBody = z.input<typeof startBody>;
export type Escalation = ReplyOf<typeof escalation>;
export type OverlappingWork = ReplyOf<typeof overlappingWork>;
export type RouteAdvice = ReplyOf<typeof routeAdvice>;
export type StartReply = ReplyOf<typeof startReply>;
