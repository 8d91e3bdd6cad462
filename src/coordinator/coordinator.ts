import { DEFAULT_LIMITS, ENTERPRISE_LIMITS, type Limits } from '../core/claims/policy.js';
import { type Blobs, MemoryBlobs } from '../stores/blobs.js';
import type { Store } from '../stores/store.js';
import { AuditService } from './audit/audit-service.js';
import type { AuditOptions } from './audit/signer.js';
import { Verifications } from './audit/verify/verifications.js';
import { ClaimedProjectsWatch } from './background/claimed-projects.js';
import { pollCommits } from './background/commit-poller.js';
import { Retention } from './background/retention.js';
import { RetentionRound } from './background/retention-round.js';
import { type NoticeSender, ReviewNotices, recordedNotices } from './background/review-notices.js';
import { Sweeper } from './background/sweeper.js';
import {
  type DocumentReader,
  MainThreadDocumentReader,
  ThreadedDocumentReader,
} from './documents/documents.js';
import { ReviewLinks } from './methodology/review-links.js';
import { MethodologyService } from './methodology/service.js';
import { EventFeed } from './queries/feed.js';
import { EventHistory } from './queries/history.js';
import { countWorkByProject, type ProjectCounts } from './queries/project-counts.js';
import { Queries } from './queries/queries.js';
import { ReadScheduler } from './queries/read-scheduler.js';
import { type DefaultLimits, Projects } from './queue/projects.js';
import { type Environment, systemEnvironment } from './runtime/environment.js';
import { noopObserver, type Observer } from './runtime/observer.js';
import { BlobService } from './services/blobs.js';
import { ClaimService } from './services/claims.js';
import { DecisionService } from './services/decisions.js';
import { EvidenceService } from './services/evidence.js';
import { HolderService } from './services/holder.js';
import { ImportService } from './services/imports.js';
import { KeyService } from './services/keys.js';
import { PlanService } from './services/plans.js';
import { RunsService } from './services/runs.js';
import { SessionService } from './services/sessions.js';
import { SettingsService } from './services/settings.js';

/** How long metrics wait for the first load of projects. Shorter than the timeout of a metrics scrape. */
const FIRST_LOAD_WAIT_MS = 5_000;

export interface CoordinatorOptions {
  readonly store: Store;
  readonly blobs?: Blobs;
  readonly environment?: Environment;
  /** Default limits of a tenant; an admin can override them per tenant. */
  readonly limits?: Partial<Limits>;
  /** Whether the default limits are the enterprise limits. Called for every command. */
  readonly has_enterprise_limits?: () => boolean;
  /** Allowed clock difference between coordinators, for stores without a clock. */
  readonly skew_margin_ms?: number;
  /** Is notified of every reply and every commit. */
  readonly observer?: Observer;
  /** Writes checkpoints of the logs. Absent: none are written. */
  readonly audit?: AuditOptions;
  /** Delivers notices of reviews to the webhooks of projects. Absent: none are sent. */
  readonly notice_sender?: NoticeSender;
  /** Parses large documents. Default: a worker thread, or the main thread if `environment` is given. */
  readonly documents?: DocumentReader;
}

/**
 * The service: validates commands, runs them in their project, and renders replies as the wire contract defines them.
 * The rules themselves are in core.
 */
export class Coordinator {
  readonly claims: ClaimService;
  readonly holder: HolderService;
  readonly decisions: DecisionService;
  readonly imports: ImportService;
  readonly blobs: BlobService;
  readonly plans: PlanService;
  readonly settings: SettingsService;
  readonly sessions: SessionService;
  readonly keys: KeyService;
  readonly evidence: EvidenceService;
  readonly queries: Queries;
  readonly feed: EventFeed;
  readonly runs: RunsService;
  readonly methodology: MethodologyService;
  readonly reviewLinks: ReviewLinks;
  readonly audit: AuditService;
  readonly verifications: Verifications;
  private readonly environment: Environment;
  private readonly documents: DocumentReader;
  readonly history: EventHistory;
  private readonly sweeper: Sweeper;
  private readonly retentionRound: RetentionRound;
  private readonly reviewNotices: ReviewNotices | null;
  private readonly claimedProjects: ClaimedProjectsWatch;
  private readonly stopPolling: () => void;

  private constructor(
    private readonly projects: Projects,
    options: CoordinatorOptions,
  ) {
    const { store, blobs = new MemoryBlobs(), environment = systemEnvironment } = options;
    this.environment = environment;
    this.history = new EventHistory(store, environment);
    const readScheduler = new ReadScheduler(environment);
    this.documents = documentReaderOf(options);
    this.plans = new PlanService(projects, this.documents, readScheduler, this.history, environment);
    this.settings = new SettingsService(projects, this.documents, environment);
    this.sessions = new SessionService(projects, this.history, readScheduler, environment);
    this.keys = new KeyService(projects, environment);
    this.evidence = new EvidenceService(projects, blobs, readScheduler);
    this.queries = new Queries(projects, store, this.history, blobs, readScheduler, environment, (project) =>
      this.runs.stateOf(project),
    );
    this.feed = new EventFeed(projects, store, readScheduler, environment);
    this.runs = new RunsService(projects, this.history, readScheduler, environment);
    this.decisions = new DecisionService(projects, this.history);
    const recordReview = this.decisions.recordReview.bind(this.decisions);
    this.methodology = new MethodologyService({
      projects,
      readScheduler,
      history: this.history,
      blobs,
      readRuns: (project) => this.runs.stateOf(project),
      recordReview,
    });
    this.reviewLinks = new ReviewLinks({
      store,
      projects,
      environment,
      blobs,
      pendingReview: (project, subject) => this.methodology.pendingReview(project, subject),
      recordReview,
    });
    this.claims = new ClaimService(projects, this.history, this.methodology, environment);
    this.holder = new HolderService(projects, this.history, blobs);
    this.imports = new ImportService(projects, store, blobs, this.methodology);
    this.blobs = new BlobService(projects, blobs);
    this.verifications = new Verifications(store);
    this.audit = new AuditService(projects, environment, options.audit ?? null);
    const retention = new Retention((project, eventType, payload) =>
      this.audit.signRecord(project, eventType, payload),
    );
    this.sweeper = new Sweeper(projects, environment, retention);
    this.retentionRound = new RetentionRound(projects, store, environment, retention, this.audit);
    const { notice_sender } = options;
    this.reviewNotices =
      notice_sender === undefined
        ? null
        : new ReviewNotices({
            projects,
            environment,
            sender: notice_sender,
            pendingReviews: (project) => this.methodology.pendingReviews(project),
            recordedNotices: (key, subject) => recordedNotices(this.history, key, subject),
          });
    this.claimedProjects = new ClaimedProjectsWatch(projects, store, environment);
    const isShared = !store.capabilities.single_writer;
    this.stopPolling = isShared ? pollCommits(projects, environment) : () => {};
  }

  static async open(options: CoordinatorOptions): Promise<Coordinator> {
    const projects = await Projects.open({
      store: options.store,
      environment: options.environment ?? systemEnvironment,
      defaultLimits: defaultLimitsOf(options),
      skewMarginMs: options.skew_margin_ms,
      observer: options.observer ?? noopObserver,
      isAudited: options.audit !== undefined,
    });
    return new Coordinator(projects, options);
  }

  /**
   * Stops the background work. Call `audit.stop()` first: it writes the last checkpoints. The store stays open: its
   * opener closes it.
   */
  close(): void {
    this.audit.cancel();
    this.documents.close();
    this.sweeper.stop();
    this.reviewNotices?.stop();
    this.retentionRound.stop();
    this.claimedProjects.stop();
    this.stopPolling();
  }

  /** Resolves when the projects that have claims are loaded, and at the latest after a few seconds. */
  waitForClaimedProjects(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.environment.setTimer(FIRST_LOAD_WAIT_MS, resolve);
      void this.claimedProjects.firstLoad.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** The numbers of claims and tasks in each loaded project, for metrics. */
  projectCounts(): Promise<ProjectCounts[]> {
    return countWorkByProject(this.projects, (project) => this.methodology.stateOf(project));
  }

  /** Runs the sweeper once in every loaded project. Resolves to the number of expired or stale claims that it records. */
  sweep(): Promise<number> {
    return this.sweeper.sweep();
  }

  /** Sends the due review notices of every loaded project. A timer also does so every few seconds. */
  async notifyReviews(): Promise<void> {
    await this.reviewNotices?.run();
  }

  /** Runs retention in every loaded project. Resolves to the number of redacted events. A timer also runs it daily. */
  redactHistory(): Promise<number> {
    return this.sweeper.redactHistory();
  }

  /** Runs retention in every project that is not loaded, one after another. A timer also runs it daily. */
  redactIdleHistory(): Promise<number> {
    return this.retentionRound.run();
  }
}

function defaultLimitsOf({ limits, has_enterprise_limits }: CoordinatorOptions): DefaultLimits {
  const defaults = { ...DEFAULT_LIMITS, ...limits };
  const enterprise = { ...ENTERPRISE_LIMITS, ...limits };
  return () => (has_enterprise_limits?.() === true ? enterprise : defaults);
}

/** An embedder with its own environment, such as a simulator, has no threads. */
const documentReaderOf = ({ documents, environment }: CoordinatorOptions): DocumentReader =>
  documents ??
  (environment === undefined ? new ThreadedDocumentReader() : new MainThreadDocumentReader(environment));
