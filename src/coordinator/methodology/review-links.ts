import { createHmac, timingSafeEqual } from 'node:crypto';
import { v7 as uuidFromTime } from 'uuid';
import type { Head } from '../../core/claims/head.js';
import type { GateResult } from '../../core/contract/claim-replies.js';
import { type CreatedReviewLink, type PendingReview, reviewLinkBody } from '../../core/contract/reviews.js';
import {
  linkExpiryMs,
  linkReviewer,
  parseReviewToken,
  type ReviewLink,
  reviewToken,
  signedLinkText,
} from '../../core/engine/review-link.js';
import { isoTime } from '../../core/events/envelope.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store, StoreMeta } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { parseBody, subjectOfBody } from '../operations/parse-body.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { claimIdSecretOf } from '../runtime/identity.js';
import { type AsyncReply, isProblem, problem } from '../wire/problem.js';
import type { FileDiff } from './file-diffs.js';
import { storedDiffs } from './reviews.js';

interface ReviewLinkServices {
  readonly store: Store;
  readonly projects: Projects;
  readonly environment: Environment;
  readonly blobs: Blobs;
  readonly pendingReview: (project: Project, subject: string) => Promise<PendingReview | null>;
  readonly recordReview: (projectKey: ProjectKey, body: unknown, caller: Caller) => AsyncReply<GateResult>;
}

/** The current state of the review that a link is for. */
export type LinkedReview =
  | { readonly state: 'pending'; readonly link: ReviewLink; readonly review: PendingReview }
  /** The link was not made by this server, or was changed. */
  | { readonly state: 'invalid' }
  | { readonly state: 'expired'; readonly link: ReviewLink }
  /** The candidate was decided on, with this link or otherwise. */
  | { readonly state: 'decided'; readonly link: ReviewLink }
  /** Another review waits for a decision, possibly a later one of the same candidate, or none does. */
  | { readonly state: 'stale'; readonly link: ReviewLink };

interface LinkDecision {
  readonly decision: string;
  readonly comment?: string | undefined;
}

/**
 * Links that let a person decide on a candidate without an account. They are signed, and not stored. A link is valid only
 * for its candidate, and a decision made with it follows the same rules as every other review.
 */
export class ReviewLinks {
  private meta: Promise<StoreMeta> | null = null;

  constructor(private readonly services: ReviewLinkServices) {}

  /** Makes a link for the candidate that waits now. */
  async create(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<CreatedReviewLink> {
    const fields = parseBody(reviewLinkBody, body);
    if (isProblem(fields)) return fields;
    const subject = subjectOfBody(fields);
    if (isProblem(subject)) return subject;
    if (!caller.may_review)
      return problem(
        'FORBIDDEN',
        'Only a reviewer can make a link to a review. Use a credential that may review.',
      );
    const { projects, environment, pendingReview } = this.services;
    return projects.withRefreshedProject(projectKey, async (project) => {
      const review = await pendingReview(project, subject);
      if (review === null)
        return problem('NOT_FOUND', `No review of ${subject} is pending. List them: gen review --list.`);
      const { task_id, generation, iteration, candidate_sha256, deadline } = review;
      const nowMs = project.now();
      const link: ReviewLink = {
        link_id: uuidFromTime({ msecs: nowMs, random: environment.randomBytes(16) }),
        tenant_id: projectKey.tenant_id,
        project_id: projectKey.project_id,
        task_id,
        generation,
        iteration,
        candidate_sha256,
        opened_at_ms: openedAtMs(project.state.heads.get(subject)),
        reviewer: fields.reviewer,
        expires_at_ms: linkExpiryMs(
          nowMs,
          fields.valid_days ?? null,
          deadline === null ? null : Date.parse(deadline),
        ),
      };
      const token = reviewToken(link, await this.macOf(link));
      return {
        link_id: link.link_id,
        path: `/reviews/link?token=${token}`,
        task_id,
        generation,
        iteration,
        candidate_sha256,
        reviewer: linkReviewer(link),
        expires_at: isoTime(link.expires_at_ms),
      };
    });
  }

  /** Reads the review that the link is for. Changes nothing. */
  async open(token: string): AsyncReply<LinkedReview> {
    const link = await this.verify(token);
    if (link === null) return { state: 'invalid' };
    // No project is loaded before the signature is verified.
    return this.services.projects.withRefreshedProject(link, async (project) => {
      if (project.now() >= link.expires_at_ms) return { state: 'expired', link };
      const { generation, iteration, candidate_sha256, opened_at_ms } = link;
      const head = project.state.heads.get(link.task_id);
      const review = await this.services.pendingReview(project, link.task_id);
      const isSameReview =
        review?.generation === generation &&
        review.iteration === iteration &&
        review.candidate_sha256 === candidate_sha256 &&
        openedAtMs(head) === opened_at_ms;
      if (isSameReview) return { state: 'pending', link, review };
      return { state: isDecided(head, link) ? 'decided' : 'stale', link };
    });
  }

  /** The changes that the link's candidate would make to the project's files. */
  diffs({ link, review }: LinkedReview & { state: 'pending' }): Promise<FileDiff[]> {
    return storedDiffs(review, link.tenant_id, this.services.blobs);
  }

  /** Decides as the reviewer of the link, once. */
  async decide(
    token: string,
    { decision, comment }: LinkDecision,
    client_ip: string | null,
  ): AsyncReply<LinkedReview | GateResult> {
    const linkedReview = await this.open(token);
    if (isProblem(linkedReview) || linkedReview.state !== 'pending') return linkedReview;
    const { link } = linkedReview;
    const { tenant_id, project_id, task_id, generation, iteration, candidate_sha256 } = link;
    const review = { task_id, generation, iteration, candidate_sha256, decision };
    const caller: Caller = { ...LINK_CALLER, principal: linkReviewer(link), client_ip };
    return this.services.recordReview(
      { tenant_id, project_id },
      comment === undefined || comment === '' ? review : { ...review, comment },
      caller,
    );
  }

  /** The link in the token; null if this server did not make the token. */
  private async verify(token: string): Promise<ReviewLink | null> {
    const parsed = parseReviewToken(token);
    if (parsed === null) return null;
    const expected = Buffer.from(await this.macOf(parsed.link));
    const isOurs = timingSafeEqual(expected, Buffer.from(parsed.mac));
    return isOurs ? parsed.link : null;
  }

  /** The MAC of a link. Its key depends on the incarnation of the store, so a loss of history makes all links invalid. */
  private async macOf(link: ReviewLink): Promise<string> {
    this.meta ??= this.services.store.meta().catch((error) => {
      this.meta = null;
      throw error;
    });
    const key = createHmac('sha256', claimIdSecretOf(await this.meta, link))
      .update('review-link')
      .digest();
    return createHmac('sha256', key).update(signedLinkText(link)).digest('base64url');
  }
}

/** What a link allows its bearer: to decide on one candidate. */
const LINK_CALLER = {
  user_id: null,
  agent_role: null,
  claim_id_optional: false,
  may_work: false,
  may_review: true,
  may_administer: false,
} as const;

/** Heads that an earlier version stored have no opening time. */
const openedAtMs = (head: Head | undefined): number => head?.gate?.opened_at_ms ?? 0;

const isDecided = (head: Head | undefined, link: ReviewLink): boolean =>
  head?.gate?.generation === link.generation &&
  head.gate.iteration === link.iteration &&
  head.gate.candidate_sha256 === link.candidate_sha256 &&
  head.gate.decision !== null;
