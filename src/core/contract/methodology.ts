import { z } from 'zod';
import { REVIEW_DECISIONS } from '../claims/head.js';
import { LINK_DAYS_MAX, TOKEN_LENGTH_MAX } from '../engine/review-link.js';
import { agentIdSchema, requestIdSchema } from '../ids.js';
import { featureVectorSchema } from '../methodology/definition/methodology.js';
import { ALL_FILES_LENGTH_MAX } from '../methodology/definition/read/file-kinds.js';
import { evidencePolicyStatus, gateResult } from './claims.js';
import {
  CHECKPOINT_REFUSALS,
  FOLD_BACK_REFUSALS,
  SPAWN_REFUSALS,
  VERSION_RELEASE_REFUSALS,
} from './codes.js';
import { type Action, type ApiOperations, json, withProject } from './operation.js';
import { decideProposalBody, planResult } from './plan.js';
import { configFault } from './problem.js';
import {
  atQuery,
  boundedText,
  count,
  iteration,
  jsonRecord,
  mutationFields,
  named,
  positionFields,
  type ReplyOf,
  sha256,
  time,
} from './schema.js';
import {
  EDGE_STATUSES,
  FEATURE_STATUSES,
  GAP_LAYERS,
  PRIORITIES,
  VECTOR_TYPES,
  WORKSPACE_STATES,
} from './values.js';

const FEATURE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
const SEMVER =
  /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$/;
export const GAP_KEYS_MAX = 10_000;
const ARTIFACTS_MAX = 100;

/** One line of text without control characters, because it may be printed or used as a file name. */
export const singleLine = (max: number) =>
  boundedText(max).regex(/^\P{Cc}*$/u, { error: 'expected no control characters' });
export const featureId = z
  .string()
  .max(100, { abort: true })
  .regex(FEATURE_ID, { error: 'expected a feature id such as REQ-F-AUTH-001' });
export const edgeName = singleLine(100);
const reqKey = z
  .string()
  .max(256, { abort: true })
  .regex(/^REQ-[A-Z0-9][A-Z0-9._-]*$/, { error: 'expected a requirement key such as REQ-F-AUTH-001' });
const boundedCount = count.max(1_000_000_000);
const contextHash = singleLine(200);
/** The acting agent. Without `agent_id` the caller's credential identifies it. */
const actorFields = { agent_id: agentIdSchema.optional(), ...mutationFields };

const text = z.string();
export const severity = z.enum(PRIORITIES);
export const edgeStatus = z.enum(['pending', ...EDGE_STATUSES]);
const refused = { success: z.literal(false), next: text };
const done = { success: z.literal(true), next: text };

// Configuration

/** The YAML files of a workspace, by path below `.ai-workspace/`. Their parser limits number and length. */
export const configureBody = z.strictObject({
  files: z.record(boundedText(1024), z.string()),
  unreadable: z
    .record(boundedText(1024), boundedText(1024))
    .optional()
    .describe('files that exist but could not be read, with the reason: what depends on them is refused'),
  ...mutationFields,
  // Leaves space for the index of a transaction: features are written in several.
  request_id: requestIdSchema.max(120).optional(),
});
const configureResult = named(
  'Configuration',
  z.object({
    success: z.literal(true),
    /** UNCHANGED: the records already match the files, and nothing was written. */
    reason: z.enum(['CONFIGURED', 'UNCHANGED']),
    /** Number of changes to the methodology so far. */
    version: count,
    feature_count: count,
    features_changed: count,
    warnings: z.array(configFault),
    faults: z
      .array(configFault)
      .describe('what is wrong in single files: what depends on them is refused, the rest is in effect'),
  }),
);
export type ConfigureResult = ReplyOf<typeof configureResult>;

// Advice on what to do next

export const startBody = z.strictObject({
  feature: featureId.optional(),
  edge: edgeName.optional(),
  profile: singleLine(64).optional(),
  agent_id: agentIdSchema.optional(),
  agent_role: singleLine(64).optional(),
  dry_run: z.boolean().optional(),
  request_id: requestIdSchema.optional(),
});
export const ESCALATION_KINDS = [
  'review',
  'escalation',
  'hold',
  'intent',
  'stuck',
  'stale_claim',
  'time_box',
  'max_iterations',
] as const;
/** Something that waits for a human. */
export const escalation = named(
  'Escalation',
  z.object({
    kind: z.enum(ESCALATION_KINDS),
    feature_id: text.nullable(),
    edge: text.nullable(),
    severity,
    since: time,
    says: text,
    next: text.describe('command that resolves it'),
  }),
);
/** Another feature in work, and the modules that both touch. */
const overlappingWork = named(
  'OverlappingWork',
  z.object({
    feature_id: text,
    edge: text,
    agent_id: text,
    inner_product: count
      .nullable()
      .describe('number of shared modules (name from the specification); null if unknown'),
    shared_modules: z.array(text),
    says: text,
  }),
);
/** Advice on what to do next, with reasons. Not binding: only a claim decides. */
const routeAdvice = z.object({
  state: z.enum(WORKSPACE_STATES),
  feature: text.nullable(),
  edge: text.nullable(),
  /** The iteration that would start. */
  iteration: count.nullable(),
  /** One sentence each, in the order of the decision. */
  reasons: z.array(text),
  skipped: z.array(z.object({ feature: text, edge: text.nullable(), says: text })),
  /** Items that wait for a human; these come first. */
  escalations: z.array(escalation),
  parallel: z.array(overlappingWork),
  /** Set if the request cannot be met, or if `enforce` forbids it. */
  refused: text.nullable(),
  /** The next action, as a command. */
  next: text,
});
const startReply = named(
  'Start',
  routeAdvice.extend({
    /** Left to the runner of the edge. */
    execution_id: z.null(),
    /** The reasons joined into one line. */
    routing_reason: text,
    evidence: evidencePolicyStatus,
    ...positionFields,
  }),
);
export type StartBody = z.input<typeof startBody>;
export type Escalation = ReplyOf<typeof escalation>;
export type OverlappingWork = ReplyOf<typeof overlappingWork>;
export type RouteAdvice = ReplyOf<typeof routeAdvice>;
export type StartReply = ReplyOf<typeof startReply>;

// Spawns

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
    reason: singleLine(2000),
    title: singleLine(200).optional(),
    intent: singleLine(200).optional(),
    profile: singleLine(64).optional(),
    /** For example `2 weeks` or `1h30m`. */
    duration: singleLine(64).optional(),
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
      addIssue('edge', 'expected with parent only: it is an edge of the parent');
    if (blocks === true && parentEdge === undefined)
      addIssue('edge', 'expected the edge of the parent that is blocked');
  });
const spawnReply = named(
  'Spawn',
  z.discriminatedUnion('reason', [
    z.object({
      ...done,
      reason: z.literal('SPAWNED'),
      feature_id: text,
      vector: named('FeatureVector', featureVectorSchema),
      blocks: text.nullable().describe('edge of the parent that waits for the spawn'),
      event_id: text,
    }),
    z.object({
      ...refused,
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
  artifacts: z.array(singleLine(1024)).max(ARTIFACTS_MAX).optional(),
  payload_path: singleLine(1024).optional(),
  ...actorFields,
});
const foldBackReply = named(
  'FoldBack',
  z.discriminatedUnion('reason', [
    z.object({
      ...done,
      reason: z.literal('FOLDED_BACK'),
      child: text,
      parent: text,
      /** The parent's edge that waited for the child and is unblocked now. */
      unblocked: text.nullable(),
      /** The feature that a hotfix spawns, to replace the hotfix with a proper solution. */
      remediation: text.nullable(),
    }),
    z.object({
      ...refused,
      reason: z.enum(FOLD_BACK_REFUSALS),
      child: text,
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

// Checkpoints

export const checkpointBody = z.strictObject({
  context_hash: contextHash,
  message: boundedText(4000).optional(),
  git_ref: singleLine(200).optional(),
  snapshot_path: singleLine(1024).optional(),
  /** Limits the checkpoint to these features. Default: all. */
  features: z.array(featureId).max(1000).optional(),
  ...actorFields,
});
const featureSnapshot = named(
  'FeatureSnapshot',
  z.object({
    feature_id: text,
    title: text,
    vector_type: z.enum(VECTOR_TYPES),
    profile: text,
    status: z.enum(FEATURE_STATUSES),
    edges: z.array(
      z.object({
        edge: text,
        status: edgeStatus,
        iteration: count,
        delta: z.number().nullable(),
        converged_at: text.nullable(),
      }),
    ),
  }),
);
const snapshot = named(
  'Snapshot',
  z.object({
    /** The snapshot is computed from the log up to this position, so it is reproducible. */
    position: count,
    timestamp: time,
    message: text.nullable(),
    context_hash: text,
    git_ref: text.nullable(),
    feature_states: z.array(featureSnapshot),
    tasks: z.object({ total: count, completed: count }),
  }),
);
const checkpointReply = named(
  'Checkpoint',
  z.discriminatedUnion('reason', [
    z.object({ ...done, reason: z.literal('CHECKPOINTED'), snapshot, event_id: text }),
    z.object({
      ...refused,
      reason: z.enum(CHECKPOINT_REFUSALS),
      snapshot: z.null(),
      event_id: z.null(),
    }),
  ]),
);
export type CheckpointBody = z.input<typeof checkpointBody>;
export type FeatureSnapshot = ReplyOf<typeof featureSnapshot>;
export type CheckpointSnapshot = ReplyOf<typeof snapshot>;
export type CheckpointReply = ReplyOf<typeof checkpointReply>;

// Reviews

export const DECISION_CODES = {
  approved: 'APPROVED',
  rejected: 'REJECTED',
  refined: 'CHANGES_REQUESTED',
  APPROVED: 'APPROVED',
  REJECTED: 'REJECTED',
  CHANGES_REQUESTED: 'CHANGES_REQUESTED',
} as const;
type DecisionName = keyof typeof DECISION_CODES;
export const decideReviewBody = z.strictObject({
  task_id: singleLine(200).optional(),
  feature_id: featureId.optional(),
  edge: edgeName.optional(),
  /** These three identify the reviewed candidate, as listed by `reviews`. */
  generation: boundedCount,
  iteration,
  candidate_sha256: sha256,
  decision: z.enum(Object.keys(DECISION_CODES) as [DecisionName, ...DecisionName[]]),
  comment: boundedText(4000).optional(),
  ...mutationFields,
});
/** A candidate that waits for a human, with the fields a decision on it must name. */
const pendingReview = named(
  'PendingReview',
  z.object({
    task_id: text,
    feature_id: text.nullable(),
    edge: text.nullable(),
    generation: count,
    iteration: count,
    candidate_sha256: text,
    work_product_ref: text.nullable(),
    agent_id: text,
    agent_role: text.nullable(),
    reason: text,
    since: time,
    deadline: time.nullable(),
    overdue: z.boolean().describe('whether the deadline has passed; the review can still be answered'),
    /** Null unless the last notice of this candidate could not be delivered. */
    notice_failed: z.object({ host: text, error: text }).nullable(),
    /** The latest reported counts: passed, failed, skipped, total. */
    evaluators: jsonRecord.nullable(),
    /** Null if the candidate is not a file manifest. */
    files: z
      .array(z.object({ path: text, sha256: text, size_bytes: count }))
      .nullable()
      .describe('files that the candidate would write; at most 100 are listed'),
    file_count: count,
    /** The edge's checks that only a human can pass. */
    human_checks: z.array(z.object({ name: text, criterion: text })),
    next: text,
  }),
);
export const reviewLinkBody = z.strictObject({
  task_id: singleLine(200).optional(),
  feature_id: featureId.optional(),
  edge: edgeName.optional(),
  reviewer: agentIdSchema.describe('who the link is for, such as an e-mail address'),
  valid_days: z
    .number()
    .positive()
    .max(LINK_DAYS_MAX)
    .optional()
    .describe('default: until the deadline of the review'),
  ...mutationFields,
});
const createdReviewLink = named(
  'ReviewLink',
  z.object({
    link_id: text,
    path: text.describe('path and query on this server; whoever has it can decide'),
    task_id: text,
    generation: count,
    iteration: count,
    candidate_sha256: text,
    reviewer: text.describe('who a decision is recorded as'),
    expires_at: time,
  }),
);
/** The form of the page behind a link. An empty comment is none. */
export const reviewLinkForm = z.strictObject({
  token: z.string().max(TOKEN_LENGTH_MAX),
  decision: z.enum(REVIEW_DECISIONS),
  comment: z.string().max(4000).optional(),
});
/** Tasks that an agent proposed. */
const pendingProposal = named(
  'PendingProposal',
  z.object({
    proposal_id: text,
    tasks: z.array(z.unknown()),
    proposed_by: text,
    since: time,
    next: text,
  }),
);
const reviewsReply = named(
  'PendingReviews',
  z.object({ reviews: z.array(pendingReview), proposals: z.array(pendingProposal), ...positionFields }),
);
export type ReviewLinkBody = z.input<typeof reviewLinkBody>;
export type CreatedReviewLink = ReplyOf<typeof createdReviewLink>;
export type DecideReviewBody = z.input<typeof decideReviewBody>;
export type PendingReview = ReplyOf<typeof pendingReview>;
export type PendingProposal = ReplyOf<typeof pendingProposal>;
export type ReviewsReply = ReplyOf<typeof reviewsReply>;

// Gaps

/** Occurrences of a requirement key: layer 1 in code, layer 2 in tests, layer 3 in telemetry. */
const keyCounts = z.strictObject({
  key: reqKey,
  code: boundedCount,
  tests: boundedCount,
  telemetry: boundedCount,
});
export const gapsBody = z.strictObject({
  layers_run: z.array(z.int().min(1).max(3)).min(1).max(3),
  /** The feature that was examined. Default: all. */
  feature: featureId.optional(),
  /** Every key of the specification, once. */
  keys: z.array(keyCounts).max(GAP_KEYS_MAX),
  /** Keys used in code but missing from the specification. */
  orphan_keys: z.array(singleLine(256)).max(GAP_KEYS_MAX).optional(),
  untagged_files: boundedCount.optional(),
  dry_run: z.boolean().optional(),
  ...actorFields,
});
/** Requirement keys of one domain that lack coverage. */
const gapCluster = z.object({
  domain: text,
  severity: z.enum(['high', 'medium']),
  keys: z.array(text),
  layers: z.array(z.enum(GAP_LAYERS)),
});
/** The same gaps always have the same intent id. At most 100 keys are listed; `key_count` has the full number. */
const identifiedGapCluster = gapCluster.extend({ key_count: count, intent_id: text });
const gapCounts = {
  total_req_keys: count,
  full_coverage: count,
  partial_coverage: count,
  no_coverage: count,
  test_gaps: count,
  telemetry_gaps: count,
  layer_results: z.record(text, z.enum(['pass', 'fail'])),
};
const gapReport = z.object({ ...gapCounts, clusters: z.array(gapCluster) });
const gapsReply = named(
  'Gaps',
  z.object({
    success: z.literal(true),
    result: z.enum(['COMPLETE', 'GAPS']),
    ...gapCounts,
    clusters: z.array(identifiedGapCluster),
    /** Null for a dry run, which writes nothing. */
    event_id: text.nullable(),
    next: text,
    ...positionFields,
  }),
);
/** An unresolved `intent_raised`, `convergence_escalated` or `claim_expired`. */
export const signal = named(
  'Signal',
  z.object({
    id: text,
    kind: z.enum(['intent', 'escalation', 'stale_claim']),
    at: time,
    position: count,
    feature_id: text.nullable(),
    edge: text.nullable(),
    severity,
    says: text,
  }),
);
export const gapsSummary = z.object({
  at: time,
  total_req_keys: count,
  full_coverage: count,
  no_coverage: count,
});
/** The last gap report, and the intents that nobody has acted on since. */
const gapsFoundReply = named(
  'GapsFound',
  z.object({ last: gapsSummary.nullable(), open: z.array(signal), ...positionFields }),
);
export type KeyCounts = ReplyOf<typeof keyCounts>;
export type GapsBody = z.input<typeof gapsBody>;
export type GapCluster = ReplyOf<typeof gapCluster>;
export type IdentifiedGapCluster = ReplyOf<typeof identifiedGapCluster>;
export type GapReport = ReplyOf<typeof gapReport>;
export type GapsReply = ReplyOf<typeof gapsReply>;
export type MethodologySignal = ReplyOf<typeof signal>;
export type GapsSummary = ReplyOf<typeof gapsSummary>;
export type GapsFoundReply = ReplyOf<typeof gapsFoundReply>;

// Releases

export const versionReleaseBody = z.strictObject({
  version: z.string().max(160, { abort: true }).regex(SEMVER, { error: 'expected a version such as 1.2.0' }),
  dry_run: z.boolean().optional(),
  git_tag: singleLine(200).optional(),
  context_hash: contextHash.optional(),
  coverage_pct: z.number().min(0).max(100).optional(),
  known_gaps: boundedCount.optional(),
  ...actorFields,
});
const readinessCheck = z.object({
  name: text,
  passed: z.boolean(),
  /** The check passes, but something is missing that a release usually has. */
  lacking: z.boolean(),
  says: text,
});
const releaseManifest = z.object({
  version: text,
  date: time,
  context_hash: text.nullable(),
  git_tag: text.nullable(),
  features_included: z.array(text),
  coverage_pct: z.number().nullable(),
  known_gaps: count.nullable(),
});
const versionReleaseReply = named(
  'Release',
  z.discriminatedUnion('reason', [
    z.object({
      ...done,
      /** READY for a dry run. */
      reason: z.enum(['RELEASED', 'READY']),
      version: text,
      readiness: z.array(readinessCheck),
      release: releaseManifest,
    }),
    z.object({
      ...refused,
      reason: z.enum(VERSION_RELEASE_REFUSALS),
      version: text,
      readiness: z.array(readinessCheck),
      release: z.null(),
    }),
  ]),
);
export type VersionReleaseBody = z.input<typeof versionReleaseBody>;
export type ReadinessCheck = ReplyOf<typeof readinessCheck>;
export type ReleaseManifest = ReplyOf<typeof releaseManifest>;
export type VersionReleaseReply = ReplyOf<typeof versionReleaseReply>;

// Operations

/** A call whose body names the project; the tenant is the credential's. The coordinator validates the other fields. */
const command = <Shape extends z.core.$ZodShape, Reply extends z.ZodType, Needed extends Action>(
  path: string,
  action: Needed,
  summary: string,
  body: z.ZodObject<Shape>,
  reply: Reply,
) =>
  ({ method: 'POST', path, tenant: 'own', action, summary, body: json(withProject(body)), reply }) as const;

/** A read whose query names the project. */
export const view = <Shape extends z.core.$ZodShape, Reply extends z.ZodType>(
  path: string,
  summary: string,
  query: z.ZodObject<Shape>,
  reply: Reply,
) =>
  ({
    method: 'GET',
    path,
    tenant: 'own',
    action: 'read',
    summary,
    query: withProject(query),
    reply,
  }) as const;

export const methodologyOperations = {
  init: {
    method: 'POST',
    path: '/api/init',
    tenant: 'own',
    action: 'operate',
    summary:
      'Configure the methodology of the project from workspace files; without files, the built-in defaults apply',
    body: {
      kind: 'json',
      schema: withProject(configureBody.partial({ files: true })),
      // Twice the limit of the files, for JSON escapes and multi-byte characters.
      bytes_max: 2 * ALL_FILES_LENGTH_MAX,
      is_document: true,
    },
    reply: configureResult,
  },
  start: command(
    '/api/start',
    'read',
    'Recommend the next edge, with the reasons; writes nothing and claims nothing',
    startBody,
    startReply,
  ),
  spawn: {
    ...command(
      '/api/spawn',
      'work',
      'Spawn a feature for a question, a risk or an incident; the named edge waits for it',
      spawnBody,
      spawnReply,
    ),
    isRefusable: true,
  },
  fold_back: {
    ...command(
      '/api/spawn/fold_back',
      'work',
      'Fold the result of a spawn back into its parent, once',
      foldBackBody,
      foldBackReply,
    ),
    isRefusable: true,
  },
  checkpoint: {
    ...command(
      '/api/checkpoint',
      'work',
      'Record a checkpoint of the log; returns the state of the project there',
      checkpointBody,
      checkpointReply,
    ),
    isRefusable: true,
  },
  decide_review: {
    ...command(
      '/api/review',
      'review',
      'Review a candidate, identified by its generation, iteration and digest',
      decideReviewBody,
      gateResult,
    ),
    isRefusable: true,
  },
  create_review_link: command(
    '/api/review/link',
    'review',
    'Make a signed link with which one person decides on the candidate that waits now',
    reviewLinkBody,
    createdReviewLink,
  ),
  decide_proposal: command(
    '/api/review/proposal',
    'review',
    'Add the tasks that an agent proposed to the plan, or reject them',
    decideProposalBody,
    planResult,
  ),
  validate_gaps: command(
    '/api/gaps',
    'work',
    'Report which requirements are covered; each gap raises an intent once',
    gapsBody,
    gapsReply,
  ),
  release: {
    ...command(
      '/api/release',
      'operate',
      'Release a version if nothing blocks it; with dry_run, report what does',
      versionReleaseBody,
      versionReleaseReply,
    ),
    isRefusable: true,
  },
  pending_reviews: view(
    '/api/review',
    'List pending reviews and proposed tasks, with the fields that a decision must name',
    z.object({}),
    reviewsReply,
  ),
  known_gaps: view(
    '/api/gaps',
    'Get the gaps of the last report; searches and writes nothing',
    atQuery,
    gapsFoundReply,
  ),
} as const satisfies ApiOperations;
