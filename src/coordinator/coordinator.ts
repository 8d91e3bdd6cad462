import type { SubjectCommand } from '../core/claims/commands.js';
import { DEFAULT_LIMITS, ENTERPRISE_LIMITS, type Limits } from '../core/claims/policy.js';
import {
  type ClaimResult,
  type GateResult,
  itemsBody,
  type NoteResult,
  nextBody,
  type ReleaseResult,
  type RenewalResult,
  releaseBody,
  renewBody,
  resumeBody,
  reviewBody,
  type SubmissionResult,
  submitBody,
  suspendBody,
} from '../core/contract/claims.js';
import {
  type AppendResult,
  appendBody,
  type ImportedCount,
  importBody,
  type TrustResult,
  trustImportsBody,
} from '../core/contract/events.js';
import { noteBody, type OperatorVerb, operatorBodies } from '../core/contract/tasks.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { importedConvergenceWarning } from '../core/methodology/progress/imported-convergence.js';
import { subjectKindOf } from '../core/subject.js';
import { type Blobs, MemoryBlobs } from '../stores/blobs.js';
import { isLogStore, type ProjectKey, type Store } from '../stores/store.js';
import { AuditService } from './audit/audit-service.js';
import type { AuditOptions } from './audit/signer.js';
import { Verifications } from './audit/verify/verifications.js';
import { actorOf, type Caller, OPEN_CALLER } from './authentication/caller.js';
import { type SessionCommand, withSignatureCheck, withSignedText } from './authentication/signatures.js';
import { pollCommits } from './background/commit-poller.js';
import { HeldProjectsWatch } from './background/held-projects.js';
import { Retention } from './background/retention.js';
import { RetentionRound } from './background/retention-round.js';
import { type NoticeSender, ReviewNotices, recordedNotices } from './background/review-notices.js';
import { Sweeper } from './background/sweeper.js';
import { type DocumentReader, InlineDocumentReader, ThreadedDocumentReader } from './documents/documents.js';
import { ReviewLinks } from './methodology/review-links.js';
import { MethodologyService } from './methodology/service.js';
import { appendOperation, appendSubjectOf } from './operations/append.js';
import { briefingFor } from './operations/briefing.js';
import { atomicClaimOperation, type ClaimRequest, claimOperation, replayClaim } from './operations/claim.js';
import { evidenceProblem, roleProblem, unverifiedChecks } from './operations/convergence-facts.js';
import { inputsDigest } from './operations/facts.js';
import { holderOperation } from './operations/holder.js';
import { NextOperation, wantsEdges } from './operations/next.js';
import { OperatorOperation, type OperatorRequest } from './operations/operate.js';
import {
  parseBatchClaim,
  parseBody,
  parseClaim,
  parseHolderBody,
  parseRoleBody,
  parseSubject,
} from './operations/parse-body.js';
import { checkPushedIds } from './operations/pushed.js';
import {
  gateResult,
  noteResult,
  releaseResult,
  renewalResult,
  unknownProjectResult,
} from './operations/render.js';
import { buildResult, changedFilesOf } from './operations/results.js';
import { requestKeyOf } from './operations/shared.js';
import { SubmitOperation } from './operations/submit.js';
import { waitForWork } from './operations/wait.js';
import { EventFeed } from './queries/feed.js';
import { EventHistory } from './queries/history.js';
import { countProjects, type ProjectCounts } from './queries/project-counts.js';
import { Queries } from './queries/queries.js';
import { ReadScheduler } from './queries/read-scheduler.js';
import type { DecisionView } from './queue/decision-view.js';
import type { PushedEvent } from './queue/offline-event.js';
import type { Operation } from './queue/operation.js';
import type { Project } from './queue/project.js';
import { type DefaultLimits, Projects } from './queue/projects.js';
import { type Environment, systemEnvironment } from './runtime/environment.js';
import { sha256Hex } from './runtime/identity.js';
import { noopObserver, type Observer } from './runtime/observer.js';
import { EvidenceService } from './services/evidence.js';
import { KeyService } from './services/keys.js';
import { PlanService } from './services/plans.js';
import { RunsService } from './services/runs.js';
import { SessionService } from './services/sessions.js';
import { SettingsService } from './services/settings.js';
import { clampTimestamps, commitImported } from './transfer/imported-events.js';
import { readImportedEvents } from './transfer/read-imported-events.js';
import { trustImports } from './transfer/trust-imports.js';
import {
  type AsyncReply,
  catchStoreErrors,
  isProblem,
  type Problem,
  problem,
  problemFromStoreError,
} from './wire/problem.js';
import { scopeProblem, tenantProblem } from './wire/scope.js';

/** Shorter than a scrape of the metrics may take. */
const FIRST_LOAD_WAIT_MS = 5_000;

export interface CoordinatorOptions {
  readonly store: Store;
  readonly blobs?: Blobs;
  readonly environment?: Environment;
  /** Default limits of a tenant; an admin can override them per tenant. */
  readonly limits?: Partial<Limits>;
  /** While it returns true, the defaults are the enterprise limits. Called for every command. */
  readonly has_enterprise_limits?: () => boolean;
  /** Allowed clock difference between coordinators, for stores without a clock of their own. */
  readonly skew_margin_ms?: number;
  /** Is notified of every reply and every commit. */
  readonly observer?: Observer;
  /** Writes checkpoints of the logs. Absent: none are written. */
  readonly audit?: AuditOptions;
  /** Delivers notices of reviews to the webhooks of projects. Absent: none are sent. */
  readonly notice_sender?: NoticeSender;
  /** Parses large documents. Default: a worker thread, or inline if `environment` is given. */
  readonly documents?: DocumentReader;
}

/**
 * The service: validates commands, runs them in their project, and renders replies as the wire contract defines them.
 * The rules themselves are in core.
 */
export class Coordinator {
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
  private readonly store: Store;
  private readonly blobs: Blobs;
  private readonly environment: Environment;
  private readonly documents: DocumentReader;
  readonly history: EventHistory;
  private readonly sweeper: Sweeper;
  private readonly retentionRound: RetentionRound;
  private readonly reviewNotices: ReviewNotices | null;
  private readonly heldProjects: HeldProjectsWatch;
  private readonly stopFollowing: () => void;

  private constructor(
    private readonly projects: Projects,
    options: CoordinatorOptions,
  ) {
    const { store, blobs = new MemoryBlobs(), environment = systemEnvironment } = options;
    this.store = store;
    this.blobs = blobs;
    this.environment = environment;
    this.history = new EventHistory(store, environment);
    const readScheduler = new ReadScheduler(environment);
    this.documents = documentReaderOf(options);
    this.plans = new PlanService(projects, this.documents, readScheduler, this.history, environment);
    this.settings = new SettingsService(projects, this.documents, environment);
    this.sessions = new SessionService(projects, this.history, readScheduler, environment);
    this.keys = new KeyService(projects, environment);
    this.evidence = new EvidenceService(projects, blobs, readScheduler);
    this.queries = new Queries(projects, store, this.history, blobs, readScheduler, environment);
    this.feed = new EventFeed(projects, store, readScheduler, environment);
    this.runs = new RunsService(projects, this.history, readScheduler, environment);
    this.methodology = new MethodologyService({
      projects,
      readScheduler,
      history: this.history,
      readRuns: (project) => this.runs.stateOf(project),
      recordReview: (scope, body, caller) => this.recordReview(scope, body, caller),
    });
    this.reviewLinks = new ReviewLinks({
      store,
      projects,
      environment,
      pendingReview: (project, subject) => this.methodology.pendingReview(project, subject),
      recordReview: (scope, body, caller) => this.recordReview(scope, body, caller),
    });
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
    this.heldProjects = new HeldProjectsWatch(projects, store, environment);
    const isShared = !store.capabilities.single_writer;
    this.stopFollowing = isShared ? pollCommits(projects, environment) : () => {};
  }

  static async open(options: CoordinatorOptions): Promise<Coordinator> {
    const projects = await Projects.open({
      store: options.store,
      environment: options.environment ?? systemEnvironment,
      default_limits: defaultLimitsOf(options),
      skew_margin_ms: options.skew_margin_ms,
      observer: options.observer ?? noopObserver,
      is_audited: options.audit !== undefined,
    });
    return new Coordinator(projects, options);
  }

  /**
   * Stops the background work. The store stays open: it belongs to whoever opened it. `audit.stop()` before it writes
   * the last checkpoints.
   */
  close(): void {
    this.audit.cancel();
    this.documents.close();
    this.sweeper.stop();
    this.reviewNotices?.stop();
    this.retentionRound.stop();
    this.heldProjects.stop();
    this.stopFollowing();
  }

  /** Resolves when the projects that have claims are loaded; after some seconds in any case. */
  waitForHeldProjects(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.environment.setTimer(FIRST_LOAD_WAIT_MS, resolve);
      void this.heldProjects.firstLoad.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** The numbers of the loaded projects, for metrics. */
  projectCounts(): Promise<ProjectCounts[]> {
    return countProjects(this.projects, (project) => this.methodology.stateOf(project));
  }

  claimTask(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<ClaimResult> {
    const parsed = parseClaim(body, caller);
    if (isProblem(parsed)) return Promise.resolve(parsed);
    const command = { command: 'claim_task', body } as const;
    const claim = { ...parsed, body: withSignedText(projectKey, command, parsed.body) };
    return this.runSessionCommand(
      projectKey,
      command,
      (project) => {
        const fault = roleProblem(project, [claim], caller);
        if (fault !== null) return Promise.resolve(fault);
        const reply = this.runClaim(project, claim, caller);
        return claim.with_briefing
          ? reply.then((granted) => this.withBriefing(projectKey, project, granted))
          : reply;
      },
      unknownProjectResult,
    );
  }

  /** Repeats the reply to an earlier grant, including its claim id. Call it only for the authenticated holder. */
  replayGrant(projectKey: ProjectKey, granted: EventEnvelope): AsyncReply<ClaimResult> {
    return this.projects.withProject(projectKey, async (project) => replayClaim([granted], project.view()));
  }

  async batchClaim(
    projectKey: ProjectKey,
    body: unknown,
    caller = OPEN_CALLER,
  ): AsyncReply<{ results: readonly (ClaimResult | Problem)[] }> {
    const batch = parseBatchClaim(body, caller);
    if (isProblem(batch)) return batch;
    const { mode, request_id } = batch;
    const sessionCommands = (body as { claims: unknown[] }).claims.map(
      (each) => ({ command: 'claim_task', body: each }) as const,
    );
    const claims = batch.claims.map((claim, index) => ({
      ...claim,
      body: withSignedText(projectKey, sessionCommands[index]!, claim.body),
    }));
    return this.projects.withProject(
      projectKey,
      async (project) => {
        const fault = roleProblem(project, claims, caller);
        if (fault !== null) return fault;
        if (mode === 'partial') {
          const run = (claim: ClaimRequest) => this.runClaim(project, claim, caller);
          const replies = claims.map((claim, index) =>
            withSignatureCheck(project, sessionCommands[index]!, () => run(claim)),
          );
          return { results: await Promise.all(replies) };
        }
        for (const each of sessionCommands) {
          const fault = await withSignatureCheck(project, each, async () => null);
          if (fault !== null) return fault;
        }
        const results = await project.run(atomicClaimOperation(claims, caller, request_id), caller);
        return isProblem(results) ? results : { results };
      },
      (unknown) => ({ results: claims.map(() => unknownProjectResult(unknown)) }),
    );
  }

  async renewLease(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<RenewalResult> {
    const parsed = parseHolderBody(renewBody, body, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle } = parsed;
    const sent = { command: 'renew_lease', body } as const;
    const read = withSignedText(projectKey, sent, parsed.fields);
    const command = { type: 'renew', handle, lease_seconds: read.lease_duration_seconds ?? null } as const;
    const operation = holderOperation(subject, command, renewalResult, read);
    return this.runSigned(projectKey, sent, operation, caller);
  }

  async releaseClaim(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<ReleaseResult> {
    const parsed = parseHolderBody(releaseBody, body, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle } = parsed;
    const sent = { command: 'release_claim', body } as const;
    const read = withSignedText(projectKey, sent, parsed.fields);
    const { reason, message = null } = read;
    const operation = holderOperation(
      subject,
      { type: 'release', handle, reason, message },
      releaseResult,
      read,
      read.offline === undefined ? null : requestKeyOf(caller, 'release_claim', read),
    );
    const checked = this.checkPushedIds(projectKey, subject, read.offline, operation);
    return this.runSigned(projectKey, sent, checked, caller);
  }

  async submitResult(
    projectKey: ProjectKey,
    body: unknown,
    caller = OPEN_CALLER,
  ): AsyncReply<SubmissionResult> {
    const parsed = parseHolderBody(submitBody, body, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle } = parsed;
    const sent = { command: 'submit_result', body } as const;
    const read = withSignedText(projectKey, sent, parsed.fields);
    const evidenceError = evidenceProblem(read, subject);
    if (evidenceError !== null) return evidenceError;
    const submit = async (project: Project): AsyncReply<SubmissionResult> => {
      const target = { tenant_id: projectKey.tenant_id, blobs: this.blobs };
      const size_bytes_max = project.limits.max_result_size_bytes;
      const result = await buildResult(read, subject, { ...target, size_bytes_max });
      if (isProblem(result)) return result;
      const files = subjectKindOf(subject) === 'edge' ? await changedFilesOf(read, target) : [];
      if (isProblem(files)) return files;
      const submission = { subject, handle, result, body: read, files, caller };
      const readHistory = () => this.history.ofSubject(projectKey, subject);
      const operation = new SubmitOperation(submission, readHistory);
      return project.run(this.checkPushedIds(projectKey, subject, read.offline, operation), caller);
    };
    return this.runSessionCommand(projectKey, sent, (project) => catchStoreErrors(() => submit(project)));
  }

  renewBatch(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.forEachItem(projectKey, body, (item) => this.renewLease(projectKey, item, caller));
  }
  releaseBatch(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.forEachItem(projectKey, body, (item) => this.releaseClaim(projectKey, item, caller));
  }
  submitBatch(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.forEachItem(projectKey, body, (item) => this.submitResult(projectKey, item, caller));
  }

  async suspendClaim(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GateResult> {
    const parsed = parseHolderBody(suspendBody, body, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle } = parsed;
    const sent = { command: 'suspend_claim', body } as const;
    const read = withSignedText(projectKey, sent, parsed.fields);
    const { iteration = 1, candidate_sha256 } = read;
    const gate = candidate_sha256 === undefined ? null : { iteration, candidate_sha256 };
    const request = requestKeyOf(caller, 'suspend_claim', read);
    const operation = holderOperation(subject, { type: 'suspend', handle, gate }, gateResult, read, request);
    const checked = this.checkPushedIds(projectKey, subject, read.offline, operation);
    return this.runSigned(projectKey, sent, checked, caller);
  }

  async resumeClaim(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GateResult> {
    const parsed = parseHolderBody(resumeBody, body, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle } = parsed;
    const sent = { command: 'resume_claim', body } as const;
    const read = withSignedText(projectKey, sent, parsed.fields);
    const request = requestKeyOf(caller, 'resume_claim', read);
    const operation = holderOperation(subject, { type: 'resume', handle }, gateResult, read, request);
    const checked = this.checkPushedIds(projectKey, subject, read.offline, operation);
    return this.runSigned(projectKey, sent, checked, caller);
  }

  async recordReview(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GateResult> {
    const fields = parseBody(reviewBody, body);
    if (isProblem(fields)) return fields;
    const subject = parseSubject(fields.task_id);
    if (isProblem(subject)) return subject;
    if (!caller.may_review)
      return problem('FORBIDDEN', 'Only a reviewer can decide a review: a credential that may review.');
    const { task_id: _, signature: __, request_id, comment = null, offline, ...review } = fields;
    const { principal } = caller;
    const command = (view: DecisionView): SubjectCommand => ({
      type: 'record_review',
      ...review,
      ...(offline === undefined
        ? { reviewer: actorOf(caller) }
        : { reviewer: offline.reviewer, pushed_by: { actor: actorOf(caller), principal } }),
      comment,
      inputs: inputsDigest(view, subject),
      failing: unverifiedChecks(view, subject),
    });
    const request = requestKeyOf(caller, 'record_review', fields);
    const operation = holderOperation(subject, command, gateResult, { request_id, offline }, request);
    const checked = this.checkPushedIds(projectKey, subject, offline, operation);
    return this.projects.withProject(projectKey, (project) => project.run(checked, caller));
  }

  /**
   * Claims the best ready work and returns it with its briefing. Waits up to `wait_seconds` for work to become ready;
   * `signal` ends the wait early.
   */
  async next(
    projectKey: ProjectKey,
    body: unknown,
    caller = OPEN_CALLER,
    signal?: AbortSignal,
  ): AsyncReply<ClaimResult> {
    const fields = parseRoleBody(nextBody, body, caller);
    if (isProblem(fields)) return fields;
    const sent = { command: 'next', body } as const;
    const { wait_seconds, ...claimFields } = withSignedText(projectKey, sent, fields);
    return this.runSessionCommand(
      projectKey,
      sent,
      async (project) => {
        const fault = roleProblem(project, [{ body: fields }], caller);
        if (fault !== null) return fault;
        const readMethodology = () => this.methodology.stateOf(project);
        const context = { caller, project, signal, readMethodology };
        const tryNext = () => project.run(new NextOperation(claimFields, context), caller);
        const { session_id, track } = claimFields;
        const wait = {
          session_id,
          seconds: wait_seconds,
          track,
          wantsEdges: wantsEdges(claimFields),
          signal,
          caller,
        };
        const reply = await waitForWork(project, this.environment, wait, tryNext);
        return this.withBriefing(projectKey, project, reply);
      },
      unknownProjectResult,
    );
  }

  async note(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<NoteResult> {
    const parsed = parseHolderBody(noteBody, body, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle } = parsed;
    const sent = { command: 'note', body } as const;
    const read = withSignedText(projectKey, sent, parsed.fields);
    const request = requestKeyOf(caller, 'note', read);
    const command = { type: 'note', handle, text: read.text } as const;
    const operation = holderOperation(subject, command, noteResult, read, request);
    return this.runSigned(projectKey, sent, operation, caller);
  }

  /** Appends a methodology step, reported by the agent that took it. */
  async appendEvent(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<AppendResult> {
    const fields = parseRoleBody(appendBody, body, caller);
    if (isProblem(fields)) return fields;
    const subjectText = appendSubjectOf(fields, caller);
    if (isProblem(subjectText)) return subjectText;
    const subject = subjectText === null ? null : parseSubject(subjectText);
    if (isProblem(subject)) return subject;
    const sent = { command: 'append_event', body } as const;
    const signedFields = withSignedText(projectKey, sent, fields);
    return this.runSessionCommand(projectKey, sent, (project) => {
      const fault = roleProblem(project, [{ body: fields }], caller);
      return fault === null
        ? project.run(appendOperation(subject, signedFields, caller), caller)
        : Promise.resolve(fault);
    });
  }

  /** Imports events that other tools have written. They change no head, so nothing has to be decided. */
  async importEvents(projectKey: ProjectKey, body: unknown): AsyncReply<ImportedCount> {
    const fields = parseBody(importBody, body);
    if (isProblem(fields)) return fields;
    const events = await catchStoreErrors(() => readImportedEvents(projectKey, fields, this.blobs));
    if (isProblem(events)) return events;
    return this.projects.withProjectOrCreate(projectKey, (project) =>
      catchStoreErrors(async () => {
        const clamped = clampTimestamps(events, project.now());
        const counts = await commitImported(this.store, projectKey, clamped, fields.in_parts);
        await project.refresh();
        return counts;
      }),
    );
  }

  /** Imports the lines that other programs have appended to the project's log. Resolves to whether there were any. */
  async importForeignLines(projectKey: ProjectKey): AsyncReply<boolean> {
    const { store } = this;
    if (!isLogStore(store) || store.importForeignLines === undefined) return false;
    const hasImported = await catchStoreErrors(async () => store.importForeignLines?.(projectKey) ?? false);
    if (hasImported !== true) return hasImported;
    return this.projects.withProjectOrCreate(projectKey, (project) =>
      catchStoreErrors(async () => {
        await project.refresh();
        return true;
      }),
    );
  }

  /** Adopts what imported logs say has converged, where it was never claimed here. */
  async trustImports(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<TrustResult> {
    const fields = parseBody(trustImportsBody, body);
    if (isProblem(fields)) return fields;
    return this.projects.withRefreshedProject(projectKey, async (project) =>
      trustImports(project, await this.methodology.stateOf(project), fields, caller),
    );
  }

  async operate(
    projectKey: ProjectKey,
    taskId: string,
    verb: OperatorVerb,
    body: unknown,
    caller = OPEN_CALLER,
  ) {
    const fields =
      verb === 'reassign'
        ? parseRoleBody(operatorBodies.reassign, body, caller)
        : parseBody(operatorBodies[verb], body);
    if (isProblem(fields)) return fields;
    const subject = parseSubject(taskId);
    if (isProblem(subject)) return subject;
    const readHistory = () => this.history.ofSubject(projectKey, subject);
    const request = { verb, body: fields } as OperatorRequest;
    const operation = new OperatorOperation(subject, request, caller, readHistory);
    return this.projects.withProject(projectKey, (project) => project.run(operation, caller));
  }

  async putBlob(tenantId: string, sha256: string, bytes: Uint8Array) {
    const fault = tenantProblem(tenantId);
    if (fault !== null) return fault;
    return catchStoreErrors(async () => {
      const { max_result_size_bytes } = (await this.projects.tenantLimits(tenantId)).currentLimits();
      if (bytes.byteLength > max_result_size_bytes) {
        return problem(
          'INVALID_REQUEST',
          `The blob exceeds ${max_result_size_bytes} bytes. Make it smaller, or have an admin raise max_result_size_bytes.`,
        );
      }
      if (sha256Hex(bytes) !== sha256) {
        return problem('INVALID_REQUEST', 'The SHA-256 does not match the bytes. Send the blob again.');
      }
      await this.blobs.put(tenantId, sha256, bytes);
      return { sha256, size_bytes: bytes.byteLength };
    });
  }

  /** Runs the sweeper once in every loaded project. It only records what time has already decided. */
  sweep(): Promise<number> {
    return this.sweeper.sweep();
  }

  /** Sends the notices of reviews that are due in every loaded project. It also runs every few seconds by itself. */
  async notifyReviews(): Promise<void> {
    await this.reviewNotices?.run();
  }

  /** Runs retention in every loaded project and returns the number of redacted events. It also runs once a day by itself. */
  redactHistory(): Promise<number> {
    return this.sweeper.redactHistory();
  }

  /** The same in every project that is not loaded, one after the other. It also runs once a day by itself. */
  redactIdleHistory(): Promise<number> {
    return this.retentionRound.run();
  }

  private runSigned<T>(
    projectKey: ProjectKey,
    command: SessionCommand,
    operation: Operation<T>,
    caller: Caller,
  ) {
    return this.runSessionCommand(projectKey, command, (project) => project.run(operation, caller));
  }

  /** Runs a session's command. If it is signed, or must be, the signature is checked before it enters the queue. */
  private runSessionCommand<T>(
    projectKey: ProjectKey,
    command: SessionCommand,
    work: (project: Project) => Promise<T | Problem>,
    refuseUnknown?: (unknown: Problem) => T | Problem,
  ): AsyncReply<T> {
    return this.projects.withProject(
      projectKey,
      (project) => withSignatureCheck(project, command, () => work(project)),
      refuseUnknown,
    );
  }

  private async forEachItem<T>(projectKey: ProjectKey, body: unknown, run: (item: unknown) => AsyncReply<T>) {
    const fields = parseBody(itemsBody, body);
    if (isProblem(fields)) return fields;
    return scopeProblem(projectKey) ?? { results: await Promise.all(fields.items.map(run)) };
  }

  private runClaim(project: Project, claim: ClaimRequest, caller: Caller): AsyncReply<ClaimResult> {
    const { subject } = claim;
    const isNewEdge = subjectKindOf(subject) === 'edge' && project.view().peekHead(subject).generation === 0;
    return isNewEdge
      ? this.claimNewEdge(project, claim, caller)
      : project.run(this.claimOperation(project, claim, caller), caller);
  }

  /**
   * Warns if an imported log says that the edge has converged: only of an edge that nobody has claimed here, and read
   * before the claim, which starts it.
   */
  private async claimNewEdge(project: Project, claim: ClaimRequest, caller: Caller): AsyncReply<ClaimResult> {
    const warning = importedConvergenceWarning(await this.methodology.stateOf(project), claim.subject);
    const reply = await project.run(this.claimOperation(project, claim, caller), caller);
    if (warning === null || isProblem(reply) || reply.reason !== 'GRANTED') return reply;
    return { ...reply, warnings: [warning, ...(reply.warnings ?? [])] };
  }

  private claimOperation(project: Project, claim: ClaimRequest, caller: Caller) {
    const { offline } = claim.body;
    return this.checkPushedIds(project.key, claim.subject, offline, claimOperation(claim, caller));
  }

  private checkPushedIds<Reply>(
    projectKey: ProjectKey,
    subject: string,
    pushed: PushedEvent | undefined,
    operation: Operation<Reply>,
  ) {
    return checkPushedIds(operation, pushed, { history: this.history, key: projectKey, subject });
  }

  private async withBriefing(projectKey: ProjectKey, project: Project, reply: ClaimResult | Problem) {
    if (isProblem(reply) || reply.claim === null) return reply;
    try {
      const readEvents = (subject: string) => this.history.ofSubject(projectKey, subject);
      return { ...reply, briefing: await briefingFor(project.view(), reply.claim, readEvents) };
    } catch (error) {
      // The claim is granted even if its briefing cannot be read.
      if (problemFromStoreError(error) !== null) return reply;
      throw error;
    }
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
  (environment === undefined ? new ThreadedDocumentReader() : new InlineDocumentReader(environment));
