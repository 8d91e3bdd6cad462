import { z } from 'zod';
import { CHECKPOINT_REFUSALS } from './codes.js';
import {
  actorFields,
  anyText,
  contextHash,
  doneFields,
  edgeStatus,
  featureId,
  refusedFields,
  singleLineText,
} from './methodology-fields.js';
import { boundedText, count, type ReplyOf, time, withName } from './schema.js';
import { FEATURE_STATUSES, VECTOR_TYPES } from './values.js';

export const checkpointBody = z.strictObject({
  context_hash: contextHash,
  message: boundedText(4000).optional(),
  git_ref: singleLineText(200).optional(),
  snapshot_path: singleLineText(1024).optional(),
  /** Limits the checkpoint to these features. Default: all. */
  features: z.array(featureId).max(1000).optional(),
  ...actorFields,
});
const featureSnapshot = withName(
  'FeatureSnapshot',
  z.object({
    feature_id: anyText,
    title: anyText,
    vector_type: z.enum(VECTOR_TYPES),
    profile: anyText,
    status: z.enum(FEATURE_STATUSES),
    edges: z.array(
      z.object({
        edge: anyText,
        status: edgeStatus,
        iteration: count,
        delta: z.number().nullable(),
        converged_at: anyText.nullable(),
      }),
    ),
  }),
);
const checkpointSnapshot = withName(
  'Snapshot',
  z.object({
    /** The snapshot is computed from the log up to this position, so it is reproducible. */
    position: count,
    timestamp: time,
    message: anyText.nullable(),
    context_hash: anyText,
    git_ref: anyText.nullable(),
    feature_states: z.array(featureSnapshot),
    tasks: z.object({ total: count, completed: count }),
  }),
);
export const checkpointReply = withName(
  'Checkpoint',
  z.discriminatedUnion('reason', [
    z.object({
      ...doneFields,
      reason: z.literal('CHECKPOINTED'),
      snapshot: checkpointSnapshot,
      event_id: anyText,
    }),
    z.object({
      ...refusedFields,
      reason: z.enum(CHECKPOINT_REFUSALS),
      snapshot: z.null(),
      event_id: z.null(),
    }),
  ]),
);
export type CheckpointBody = z.input<typeof checkpointBody>;
export type FeatureSnapshot = ReplyOf<typeof featureSnapshot>;
export type CheckpointSnapshot = ReplyOf<typeof checkpointSnapshot>;
export type CheckpointReply = ReplyOf<typeof checkpointReply>;
