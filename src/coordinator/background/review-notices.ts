import type { PendingReview } from '../../core/contract/reviews.js';
import {
  currentNotice,
  type ReviewNotice,
  type ReviewSettings,
  retryAtMs,
} from '../../core/engine/review-notices.js';
import type { ProjectKey } from '../../stores/store.js';
import { noticeIdOf, recordNotice } from '../operations/review-events.js';
import type { EventHistory } from '../queries/history.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { repeatEvery } from './repeat.js';

/** Delivers a notice. Rejects with an error whose message may be recorded in the project's log. */
export interface NoticeSender {
  send(url: string, noticeId: string, body: string): Promise<void>;
}

interface ReviewNoticesServices {
  readonly projects: Projects;
  readonly environment: Environment;
  readonly sender: NoticeSender;
  readonly pendingReviews: (project: Project) => Promise<PendingReview[]>;
  /** The ids of a subject's notices that the log records as delivered or failed. */
  readonly recordedNotices: (projectKey: ProjectKey, subject: string) => Promise<ReadonlySet<string>>;
}

interface CurrentNotice {
  readonly notice_id: string;
  readonly notice: ReviewNotice;
  readonly review: PendingReview;
  readonly url: string;
}

interface NoticeProgress {
  readonly tries: number;
  /** Null once the notice is delivered or given up. */
  readonly not_before_ms: number | null;
}

const TICK_MS = 5_000;
const PROJECTS_AT_ONCE = 8;
/** Maximum number of notices per project and round: a project with many reviews must not delay the others for long. */
const NOTICES_PER_ROUND = 10;
const ERROR_CHARS_MAX = 200;

/**
 * Sends notices of pending reviews to the webhook of a project. A notice is tried until it is delivered, or has failed too
 * often. Several coordinators may deliver one notice. It has the same id in each delivery, and the log records it once.
 */
export class ReviewNotices {
  readonly stop: () => void;
  /** By notice id, for the reviews that are pending now. */
  private readonly progress = new WeakMap<Project, Map<string, NoticeProgress>>();

  constructor(private readonly services: ReviewNoticesServices) {
    this.stop = repeatEvery(services.environment, TICK_MS, () => [this.run()]);
  }

  /** Sends the notices that are due in every loaded project. */
  async run(): Promise<void> {
    const projects = [...this.services.projects.listLoaded()].filter(
      (project) => !project.backoff.isPausing && settingsOf(project)?.webhook_url !== undefined,
    );
    for (let first = 0; first < projects.length; first += PROJECTS_AT_ONCE) {
      const batch = projects.slice(first, first + PROJECTS_AT_ONCE);
      await Promise.allSettled(batch.map((project) => this.notifyProject(project)));
    }
  }

  private async notifyProject(project: Project): Promise<void> {
    const reviews = await this.services.pendingReviews(project);
    const current = currentNotices(project, reviews, settingsOf(project) ?? {});
    const progress = this.pruneProgress(project, current);
    const due = current.filter(({ notice_id }) => isDue(progress.get(notice_id), project.now()));
    const deliveries = due.slice(0, NOTICES_PER_ROUND).map((each) => this.notify(project, progress, each));
    await Promise.allSettled(deliveries);
  }

  /** Drops the progress of notices that are no longer current, and returns the others. */
  private pruneProgress(project: Project, current: readonly CurrentNotice[]): Map<string, NoticeProgress> {
    const previous = this.progress.get(project);
    const pruned = new Map<string, NoticeProgress>();
    for (const { notice_id } of current) {
      const noticeProgress = previous?.get(notice_id);
      if (noticeProgress !== undefined) pruned.set(notice_id, noticeProgress);
    }
    this.progress.set(project, pruned);
    return pruned;
  }

  /** Tries to deliver a notice, unless the log already records its end: another process may have delivered it before. */
  private async notify(project: Project, progress: Map<string, NoticeProgress>, current: CurrentNotice) {
    const { notice_id, review, url } = current;
    const tries = (progress.get(notice_id)?.tries ?? 0) + 1;
    const markSettled = () => progress.set(notice_id, { tries, not_before_ms: null });
    const recorded = await this.services.recordedNotices(project.key, review.task_id);
    if (recorded.has(notice_id)) return markSettled();
    const error = await this.services.sender.send(url, notice_id, bodyOf(project.key, current)).then(
      () => null,
      (reason: Error) => reason.message.slice(0, ERROR_CHARS_MAX),
    );
    const payload = payloadOf(current);
    if (error === null) {
      markSettled();
      return project.run(recordNotice(review, 'review_notified', payload));
    }
    const not_before_ms = retryAtMs(tries, project.now());
    progress.set(notice_id, { tries, not_before_ms });
    if (not_before_ms !== null) return null;
    return project.run(recordNotice(review, 'review_notice_failed', { ...payload, tries, error }));
  }
}

const settingsOf = (project: Project): ReviewSettings | undefined =>
  project.view().methodology?.engine?.review;

function currentNotices(
  project: Project,
  reviews: readonly PendingReview[],
  settings: ReviewSettings,
): CurrentNotice[] {
  const { webhook_url: url } = settings;
  if (url === undefined) return [];
  return reviews.map((review) => {
    const notice = currentNotice(review, settings, project.now());
    return { notice_id: noticeIdOf(project.key, review, notice), notice, review, url };
  });
}

const isDue = (progress: NoticeProgress | undefined, nowMs: number): boolean =>
  progress === undefined || (progress.not_before_ms !== null && nowMs >= progress.not_before_ms);

function payloadOf({ notice_id, notice: { kind, number }, review, url }: CurrentNotice) {
  const { iteration, candidate_sha256 } = review;
  const numbered = kind === 'reminder' ? { number } : {};
  return { iteration, candidate_sha256, notice_id, kind, ...numbered, host: new URL(url).host };
}

/** The body of a notice. It contains no link for deciding the review: only a reviewer creates such a link. */
function bodyOf({ tenant_id, project_id }: ProjectKey, { notice_id, notice, review }: CurrentNotice): string {
  const { task_id, generation, iteration, candidate_sha256, since, deadline, next } = review;
  return JSON.stringify({
    notice_id,
    ...notice,
    tenant_id,
    project_id,
    task_id,
    generation,
    iteration,
    candidate_sha256,
    since,
    deadline,
    next,
  });
}

const NOTICE_EVENTS = ['review_notified', 'review_notice_failed'];

export async function recordedNotices(
  history: EventHistory,
  projectKey: ProjectKey,
  subject: string,
): Promise<ReadonlySet<string>> {
  const events = await history.read(projectKey, { subject, types: NOTICE_EVENTS });
  return new Set(events.map(({ payload }) => String(payload.notice_id)));
}
