import { z } from 'zod';
import { featureSchema } from '../methodology/definition/methodology.js';
import { FOLD_BACK_REFUSALS, SPAWN_REFUSALS } from './codes.js';
import {
  ARTIFACTS_MAX,
  actorFields,
  anyText,
  doneFields,
  edgeName,
  featureId,
  refusedFields,
  singleLineText,
} from './methodology-fields.js';
import { boundedText, type ReplyOf, withName } from './schema.js';
import { PRIORITIES, VECTOR_TYPES } from './values.js';

export const spawnBody = z
  .strictObject({
    vector_type: z.enum(VECTOR_TYPES),
    /** Only for vector_type `feature`; other types get a numbered id. */
    feature_id: featureId.optional(),
    parent: featureId.optional(),
    /** The parent's edge that raised the question. */
    edge: edgeName.optional(),
    /** Whether that edge waits for the answer. Default: true if an edge is named. */
    blocks: z.boolean().optional(),
    reason: singleLineText(2000),
    title: singleLineText(200).optional(),
    intent: singleLineText(200).optional(),
    profile: singleLineText(64).optional(),
    /** For example `2 weeks` or `1h30m`. */
    duration: singleLineText(64).optional(),
    priority: z.enum(PRIORITIES).optional(),
    ...actorFields,
  })
  .superRefine(({ vector_type, feature_id, parent, edge: parentEdge, blocks }, context) => {
    const addIssue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    const isFeature = vector_type === 'feature';
    if (isFeature && feature_id === undefined) addIssue('feature_id', 'expected the id of the new feature');
    if (!isFeature && feature_id !== undefined)
      addIssue('feature_id', `a ${vector_type} gets a generated id; omit feature_id`);
    if (!isFeature && parent === undefined) addIssue('parent', `a ${vector_type} needs a parent feature`);
    if (parentEdge !== undefined && parent === undefined)
      addIssue('edge', 'expected only together with parent, because it names an edge of the parent');
    if (blocks === true && parentEdge === undefined)
      addIssue('edge', 'expected the edge of the parent that waits for the spawn, because blocks is true');
  });
export const spawnReply = withName(
  'Spawn',
  z.discriminatedUnion('reason', [
    z.object({
      ...doneFields,
      reason: z.literal('SPAWNED'),
      feature_id: anyText,
      vector: withName('FeatureVector', featureSchema),
      blocks: anyText.nullable().describe('edge of the parent that waits for the spawn'),
      event_id: anyText,
    }),
    z.object({
      ...refusedFields,
      reason: z.enum(SPAWN_REFUSALS),
      feature_id: z.null(),
      vector: z.null(),
      blocks: z.null(),
      event_id: z.null(),
    }),
  ]),
);
export const foldBackBody = z.strictObject({
  /** The child feature. */
  feature_id: featureId,
  fold_back_status: z.enum(['converged', 'time_box_expired']),
  /** The child's question is answered although not all of its edges have converged. */
  question_answered: z.boolean().optional(),
  summary: boundedText(4000),
  recommendation: z.enum(['proceed', 'pivot', 'abandon']),
  artifacts: z.array(singleLineText(1024)).max(ARTIFACTS_MAX).optional(),
  payload_path: singleLineText(1024).optional(),
  ...actorFields,
});
export const foldBackReply = withName(
  'FoldBack',
  z.discriminatedUnion('reason', [
    z.object({
      ...doneFields,
      reason: z.literal('FOLDED_BACK'),
      child: anyText,
      parent: anyText,
      /** The parent's edge that waited for the child and is unblocked now. */
      unblocked: anyText.nullable(),
      /** The feature that a hotfix spawns, to replace the hotfix with a proper solution. */
      remediation: anyText.nullable(),
    }),
    z.object({
      ...refusedFields,
      reason: z.enum(FOLD_BACK_REFUSALS),
      child: anyText,
      parent: z.null(),
      unblocked: z.null(),
      remediation: z.null(),
    }),
  ]),
);
export type SpawnBody = z.input<typeof spawnBody>;
export type SpawnReply = ReplyOf<typeof spawnReply>;
export type FoldBackBody = z.input<typeof foldBackBody>;
export type FoldBackReply = ReplyOf<typeof foldBackReply>;
