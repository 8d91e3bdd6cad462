import { z } from 'zod';
import { REVIEW_DECISIONS } from '../claims/head.js';
import { LINK_DAYS_MAX, TOKEN_LENGTH_MAX } from '../engine/review-link.js';
import { agentIdSchema } from '../ids.js';
import { failingCheck } from './checks.js';
import { anyText, boundedCount, edgeName, featureId, singleLineText } from './methodology-fields.js';
import { offlineEvent, offlineEventId } from './offline.js';
import {
  boundedText,
  count,
  generationSchema,
  iteration,
  jsonRecord,
  mutationFields,
  positionFields,
  type ReplyOf,
  sha256Schema,
  subjectSchema,
  time,
  withName,
} from './schema.js';

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
  task_id: singleLineText(200).optional(),
  feature_id: featureId.optional(),
  edge: edgeName.optional(),
  /** These three fields identify the reviewed candidate, as the operation `pending_reviews` lists it. */
  generation: boundedCount,
  iteration,
  candidate_sha256: sha256Schema,
  decision: z.enum(Object.keys(DECISION_CODES) as [DecisionName, ...DecisionName[]]),
  comment: boundedText(4000).optional(),
  ...mutationFields,
});
/** A candidate that waits for a person, with the fields a decision on it must name. */
const pendingReview = withName(
  'PendingReview',
  z.object({
    task_id: anyText,
    feature_id: anyText.nullable(),
    edge: anyText.nullable(),
    generation: count,
    iteration: count,
    candidate_sha256: anyText,
    work_product_ref: anyText.nullable(),
    agent_id: anyText,
    agent_role: anyText.nullable(),
    reason: anyText,
    since: time,
    deadline: time.nullable(),
    overdue: z.boolean().describe('whether the deadline has passed; a decision is still possible'),
    /** Null unless the last notice of this candidate could not be delivered. */
    notice_failed: z.object({ host: anyText, error: anyText }).nullable(),
    /** The latest reported counts: passed, failed, skipped, total. */
    evaluators: jsonRecord.nullable(),
    /** Null if the candidate is not a file manifest. */
    files: z
      .array(z.object({ path: anyText, sha256: anyText, size_bytes: count, base_sha256: anyText.nullable() }))
      .nullable()
      .describe(
        'files that the candidate would write; at most 100 are listed; base_sha256 is null for a new file',
      ),
    file_count: count,
    failing: z
      .array(failingCheck)
      .exactOptional()
      .describe('required checks that the candidate has not passed; with one, it cannot be approved'),
    /** The edge's checks that only a person can pass. */
    human_checks: z.array(z.object({ name: anyText, criterion: anyText })),
    next: anyText,
  }),
);
/** The decision on a candidate, as the coordinator records it. */
export const reviewBody = z.strictObject({
  task_id: subjectSchema,
  generation: generationSchema,
  iteration,
  candidate_sha256: sha256Schema,
  decision: z.enum(REVIEW_DECISIONS),
  comment: boundedText(4000).optional(),
  offline: offlineEvent
    .extend({
      reviewer: agentIdSchema.describe(
        'who decided, according to the sender; the sender is recorded as well',
      ),
      /** The id of the event that accepted the result, if the decision is an approval. */
      accepted_event_id: offlineEventId.optional(),
    })
    .refine(({ event_id, accepted_event_id }) => event_id !== accepted_event_id, {
      path: ['accepted_event_id'],
      message: 'expected another id than event_id',
    })
    .optional(),
  ...mutationFields,
});
/** A person's review of a candidate. */
export const reviewEntry = z.object({
  generation: count,
  iteration: count,
  decision: z.enum(REVIEW_DECISIONS),
  reviewer: z.string(),
  pushed_by: z
    .string()
    .exactOptional()
    .describe(
      'the credential that pushed a review decided offline; only this credential vouches for `reviewer`',
    ),
  comment: z.string().nullable(),
  at: time,
});
export const reviewLinkBody = z.strictObject({
  task_id: singleLineText(200).optional(),
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
export const createdReviewLink = withName(
  'ReviewLink',
  z.object({
    link_id: anyText,
    path: anyText.describe('path and query on this server; anyone who has it can decide'),
    task_id: anyText,
    generation: count,
    iteration: count,
    candidate_sha256: anyText,
    reviewer: anyText.describe('the reviewer under whose name a decision is recorded'),
    expires_at: time,
  }),
);
/** The form of the page behind a link. An empty comment counts as no comment. */
export const reviewLinkForm = z.strictObject({
  token: z.string().max(TOKEN_LENGTH_MAX),
  decision: z.enum(REVIEW_DECISIONS),
  comment: z.string().max(4000).optional(),
});
/** Tasks that an agent proposed. */
const pendingProposal = withName(
  'PendingProposal',
  z.object({
    proposal_id: anyText,
    tasks: z.array(z.unknown()),
    proposed_by: anyText,
    since: time,
    next: anyText,
  }),
);
export const reviewsReply = withName(
  'PendingReviews',
  z.object({ reviews: z.array(pendingReview), proposals: z.array(pendingProposal), ...positionFields }),
);
export type ReviewBody = z.infer<typeof reviewBody>;
export type ReviewEntry = ReplyOf<typeof reviewEntry>;
export type ReviewLinkBody = z.input<typeof reviewLinkBody>;
export type CreatedReviewLink = ReplyOf<typeof createdReviewLink>;
export type DecideReviewBody = z.input<typeof decideReviewBody>;
export type PendingReview = ReplyOf<typeof pendingReview>;
export type PendingProposal = ReplyOf<typeof pendingProposal>;
export type ReviewsReply = ReplyOf<typeof reviewsReply>;
