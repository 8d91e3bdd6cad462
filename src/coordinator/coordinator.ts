import type { ClaimsCommand } from '../core/claims/commands.js';
import { DEFAULT_LIMITS, type Limits } from '../core/claims/policy.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { kindOf } from '../core/subject.js';
import { type Blobs, MemoryBlobs } from '../stores/blobs.js';
import type { ProjectKey, Store } from '../stores/store.js';
import { briefingFor } from './briefing.js';
import { OPEN_CALLER } from './caller.js';
import { evidenceFault, roleFault } from './convergence-facts.js';
import type { Desk } from './desk.js';
import { type Documents, InlineDocuments, ThreadedDocuments } from './documents/documents.js';
import { type Environment, systemEnvironment } from './environment.js';
import { inputsDigest } from './facts.js';
import { followOthers } from './follower.js';
import { sha256Hex } from './identity.js';
import { MethodologyService } from './methodology/service.js';
import { AppendOperation, readTold } from './operations/append.js';
import { AtomicClaimOperation, ClaimOperation, replayedClaim } from './operations/claim.js';
import { HolderOperation } from './operations/holder.js';
import { notAfter, readImported } from './operations/import-events.js';
import { NextOperation } from './operations/next.js';
import { OperatorOperation, type OperatorRequest, type OperatorResult } from './operations/operate.js';
import { readBatch, readBody, readClaim, readHandled, readSubject } from './operations/read.js';
import { requestOf } from './operations/shared.js';
import { SubmitOperation } from './operations/submit.js';
import { isProblem, type Problem, problem, type Reply } from './problem.js';
import type { Project } from './project.js';
import { Projects, reachable } from './projects.js';
import { EventFeed } from './queries/feed.js';
import { History } from './queries/history.js';
import { Queries } from './queries/queries.js';
import { ReadTurns } from './queries/read-turns.js';
import { gateResult, releaseResult, renewalResult } from './render.js';
import { filesOf } from './result-files.js';
import { resultFrom } from './results.js';
import { scopeFault, tenantFault } from './scope.js';
import { Keys } from './services/keys.js';
import { Plans } from './services/plans.js';
import { Sessions } from './services/sessions.js';
import { Settings } from './services/settings.js';
import { needsCheck, type SessionCommand, signatureFault } from './signatures.js';
import { storeProblem } from './store-problem.js';
import { Sweeper } from './sweeper.js';
import { commitImported, type ImportedCount } from './transfer/imported-events.js';
import { waitForWork } from './wait.js';
import * as wire from './wire.js';
import { NOBODY, type Witness } from './witness.js';

export interface CoordinatorOptions {
  readonly store: Store;
  readonly blobs?: Blobs;
  readonly environment?: Environment;
  /** What a tenant may do until an admin says otherwise. */
  readonly limits?: Partial<Limits>;
  /** How far clocks may differ, where the store has none of its own. */
  readonly skew_margin_ms?: number;
  /** Hears of every answer and every commit. */
  readonly witness?: Witness;
  /** Who reads large documents; a thread, unless the environment is given. */
  readonly documents?: Documents;
}

/**
 * The service: commands in, decisions out. It reads and bounds what comes in, hands it to the project it
 * belongs to, and answers in the words of the wire contract. What may happen is decided in core alone.
 */
export class Coordinator {
  readonly plans: Plans;
  readonly settings: Settings;
  readonly sessions: Sessions;
  readonly keys: Keys;
  readonly queries: Queries;
  readonly feed: EventFeed;
  readonly methodology: MethodologyService;
  private readonly store: Store;
  private readonly blobs: Blobs;
  private readonly environment: Environment;
  private readonly documents: Documents;
  readonly history: History;
  private readonly sweeper: Sweeper;
  private readonly stopFollowing: () => void;

  private constructor(
    private readonly projects: Projects,
    options: CoordinatorOptions,
  ) {
    const { store, blobs = new MemoryBlobs(), environment = systemEnvironment } = options;
    this.store = store;
    this.blobs = blobs;
    this.environment = environment;
    this.history = new History(store, environment);
    const turns = new ReadTurns(environment);
    this.documents = documentsOf(options);
    this.plans = new Plans(projects, this.documents, turns, environment);
    this.settings = new Settings(projects, this.documents, environment);
    this.sessions = new Sessions(projects, this.history, turns, environment);
    this.keys = new Keys(projects, environment);
    this.queries = new Queries(projects, store, this.history, blobs, turns, environment);
    this.feed = new EventFeed(projects, store, turns, environment);
    this.methodology = new MethodologyService({
      projects,
      turns,
      recordReview: (scope, body, caller) => this.recordReview(scope, body, caller),
    });
    this.sweeper = new Sweeper(projects, environment);
    const shared = !store.capabilities.single_writer;
    this.stopFollowing = shared ? followOthers(projects, environment) : () => {};
  }

  static async open(options: CoordinatorOptions): Promise<Coordinator> {
    const projects = await Projects.open({
      store: options.store,
      environment: options.environment ?? systemEnvironment,
      default_limits: { ...DEFAULT_LIMITS, ...options.limits },
      skew_margin_ms: options.skew_margin_ms,
      witness: options.witness ?? NOBODY,
    });
    return new Coordinator(projects, options);
  }

  /** Stops what runs by itself. The store belongs to whoever opened it. */
  close(): void {
    this.documents.close();
    this.sweeper.stop();
    this.stopFollowing();
  }

  claimTask(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ClaimResult> {
    const claim = readClaim(body);
    if (isProblem(claim)) return Promise.resolve(claim);
    return this.session(scope, { command: 'claim_task', body }, (project) => {
      const fault = roleFault(project, [claim], caller);
      if (fault !== null) return Promise.resolve(fault);
      const reply = project.run(new ClaimOperation(claim, caller), caller);
      return claim.with_briefing ? reply.then((told) => this.briefed(scope, project, told)) : reply;
    });
  }

  /** A grant as it was told when it was given. Only for who is sure to speak with its holder: it has the claim id. */
  grantOf(scope: ProjectKey, granted: EventEnvelope): Reply<wire.ClaimResult> {
    return this.projects.in(scope, async (project) => replayedClaim([granted], project.desk()));
  }

  async batchClaim(
    scope: ProjectKey,
    body: unknown,
    caller = OPEN_CALLER,
  ): Reply<{ results: readonly (wire.ClaimResult | Problem)[] }> {
    const batch = readBatch(body);
    if (isProblem(batch)) return batch;
    const { mode, claims, request_id } = batch;
    const asked = (body as { claims: unknown[] }).claims.map(
      (each) => ({ command: 'claim_task', body: each }) as const,
    );
    return this.projects.in(scope, async (project) => {
      const fault = roleFault(project, claims, caller);
      if (fault !== null) return fault;
      if (mode === 'partial') {
        const replies = claims.map((claim, at) =>
          signed(project, asked[at]!, () => project.run(new ClaimOperation(claim, caller), caller)),
        );
        return { results: await Promise.all(replies) };
      }
      for (const each of asked) {
        const fault = await signed(project, each, async () => null);
        if (fault !== null) return fault;
      }
      const results = await project.run(new AtomicClaimOperation(claims, caller, request_id), caller);
      return isProblem(results) ? results : { results };
    });
  }

  async renewLease(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.RenewalResult> {
    const asked = readHandled(wire.renewBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const lease_seconds = read.lease_duration_seconds ?? null;
    const command = { type: 'renew', handle, lease_seconds } as const;
    return this.session(scope, { command: 'renew_lease', body }, (project) =>
      project.run(new HolderOperation(subject, command, renewalResult, read), caller),
    );
  }

  async releaseClaim(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ReleaseResult> {
    const asked = readHandled(wire.releaseBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const { reason, message = null } = read;
    const command = { type: 'release', handle, reason, message } as const;
    return this.session(scope, { command: 'release_claim', body }, (project) =>
      project.run(new HolderOperation(subject, command, releaseResult, read), caller),
    );
  }

  async submitResult(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.SubmissionResult> {
    const asked = readHandled(wire.submitBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const misplaced = evidenceFault(read, subject);
    if (misplaced !== null) return misplaced;
    const submit = async (project: Project): Reply<wire.SubmissionResult> => {
      const { tenant_id } = scope;
      const size_bytes_max = project.limits.max_result_size_bytes;
      const result = await resultFrom(read, subject, { tenant_id, blobs: this.blobs, size_bytes_max });
      if (isProblem(result)) return result;
      const files = kindOf(subject) === 'edge' ? await filesOf(read, { tenant_id, blobs: this.blobs }) : [];
      if (isProblem(files)) return files;
      const submission = { subject, handle, result, said: read, files, caller };
      return project.run(new SubmitOperation(submission, (of) => this.history.of(scope, of)), caller);
    };
    return this.session(scope, { command: 'submit_result', body }, (project) =>
      reachable(() => submit(project)),
    );
  }

  renewBatch(scope: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.each(scope, body, (item) => this.renewLease(scope, item, caller));
  }
  releaseBatch(scope: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.each(scope, body, (item) => this.releaseClaim(scope, item, caller));
  }
  submitBatch(scope: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.each(scope, body, (item) => this.submitResult(scope, item, caller));
  }

  async suspendClaim(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.GateResult> {
    const asked = readHandled(wire.suspendBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const { iteration = 1, candidate_sha256 } = read;
    const gate = candidate_sha256 === undefined ? null : { iteration, candidate_sha256 };
    const command = { type: 'suspend', handle, gate } as const;
    const request = requestOf(caller, 'suspend_claim', read);
    return this.session(scope, { command: 'suspend_claim', body }, (project) =>
      project.run(new HolderOperation(subject, command, gateResult, read, request), caller),
    );
  }

  async resumeClaim(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.GateResult> {
    const asked = readHandled(wire.resumeBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const command = { type: 'resume', handle } as const;
    const request = requestOf(caller, 'resume_claim', read);
    return this.session(scope, { command: 'resume_claim', body }, (project) =>
      project.run(new HolderOperation(subject, command, gateResult, read, request), caller),
    );
  }

  async recordReview(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.GateResult> {
    const read = readBody(wire.reviewBody, body);
    if (isProblem(read)) return read;
    const subject = readSubject(read.task_id);
    if (isProblem(subject)) return subject;
    const { generation, iteration, candidate_sha256, decision, comment = null } = read;
    const reviewer = caller.user_id ?? caller.principal;
    const said = { generation, iteration, candidate_sha256, decision, reviewer, comment };
    const command = (desk: Desk): ClaimsCommand => ({
      type: 'record_review',
      ...said,
      inputs: inputsDigest(desk, subject),
    });
    const request = requestOf(caller, 'record_review', read);
    const named = { request_id: read.request_id };
    return this.projects.in(scope, (project) =>
      project.run(new HolderOperation(subject, command, gateResult, named, request), caller),
    );
  }

  /**
   * The best ready work, with its briefing. Waits up to `wait_seconds` for something to become ready, but not beyond
   * the moment when nobody waits for it any more.
   */
  async next(
    scope: ProjectKey,
    body: unknown,
    caller = OPEN_CALLER,
    gone?: AbortSignal,
  ): Reply<wire.ClaimResult> {
    const read = readBody(wire.nextBody, body);
    if (isProblem(read)) return read;
    const { wait_seconds, ...asked } = read;
    return this.session(scope, { command: 'next', body }, async (project) => {
      const ask = () => project.run(new NextOperation(asked, caller, project), caller);
      const { session_id, track } = asked;
      const wait = { session_id, seconds: wait_seconds, track, gone, caller };
      const reply = await waitForWork(project, this.environment, wait, ask);
      return this.briefed(scope, project, reply);
    });
  }

  async note(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ReleaseResult> {
    const asked = readHandled(wire.noteBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const command = { type: 'note', handle, text: read.text } as const;
    const request = requestOf(caller, 'note', read);
    return this.session(scope, { command: 'note', body }, (project) =>
      project.run(new HolderOperation(subject, command, releaseResult, read, request), caller),
    );
  }

  /** A step of the methodology, told by who took it. */
  async appendEvent(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.AppendResult> {
    const read = readBody(wire.appendBody, body);
    if (isProblem(read)) return read;
    const told = readTold(read, caller);
    if (isProblem(told)) return told;
    const subject = told === null ? null : readSubject(told);
    if (isProblem(subject)) return subject;
    return this.session(scope, { command: 'append_event', body }, (project) => {
      const fault = roleFault(project, [{ body: read }], caller);
      return fault === null
        ? project.run(new AppendOperation(subject, read, caller), caller)
        : Promise.resolve(fault);
    });
  }

  /** What other tools have written, brought in as it is. It moves no head, so nothing has to be decided. */
  async importEvents(scope: ProjectKey, body: unknown): Reply<ImportedCount> {
    const read = readBody(wire.importBody, body);
    if (isProblem(read)) return read;
    const events = readImported(scope, read);
    if (isProblem(events)) return events;
    return this.projects.in(scope, (project) =>
      reachable(async () => {
        const now_ms = project.now();
        const past = events.map((event) => notAfter(event, now_ms));
        const counted = await commitImported(this.store, scope, past);
        await project.follow();
        return counted;
      }),
    );
  }

  async operate(
    scope: ProjectKey,
    task_id: string,
    verb: wire.OperatorVerb,
    body: unknown,
    caller = OPEN_CALLER,
  ): Reply<OperatorResult> {
    const read = readBody(wire.operatorBodies[verb], body);
    if (isProblem(read)) return read;
    const subject = readSubject(task_id);
    if (isProblem(subject)) return subject;
    const asked = { verb, body: read } as OperatorRequest;
    return this.projects.in(scope, (project) =>
      project.run(new OperatorOperation(subject, asked, caller, (of) => this.history.of(scope, of)), caller),
    );
  }

  async putBlob(
    tenant_id: string,
    sha256: string,
    bytes: Uint8Array,
  ): Reply<{ sha256: string; size_bytes: number }> {
    const fault = tenantFault(tenant_id);
    if (fault !== null) return fault;
    return reachable(() => this.keepBlob(tenant_id, sha256, bytes));
  }

  private async keepBlob(
    tenant_id: string,
    sha256: string,
    bytes: Uint8Array,
  ): Reply<{ sha256: string; size_bytes: number }> {
    const { max_result_size_bytes } = (await this.projects.tenant(tenant_id)).currentLimits();
    if (bytes.byteLength > max_result_size_bytes) {
      return problem('INVALID_REQUEST', `A blob has at most ${max_result_size_bytes} bytes in this tenant.`);
    }
    if (sha256Hex(bytes) !== sha256) {
      return problem('INVALID_REQUEST', 'The bytes do not have that SHA-256. Send them again.');
    }
    await this.blobs.put(tenant_id, sha256, bytes);
    return { sha256, size_bytes: bytes.byteLength };
  }

  /** One round of the sweeper in every project at work, now. Changes no outcome: it only writes down. */
  sweep(): Promise<number> {
    return this.sweeper.sweep();
  }

  /** Retention in every project at work, now: how many events say less than before. It runs once a day by itself. */
  forgetHistory(): Promise<number> {
    return this.sweeper.forgetHistory();
  }

  /** A command of a session: where it is signed, or has to be, only that session's own reaches the queue. */
  private session<T>(
    scope: ProjectKey,
    asked: SessionCommand,
    work: (project: Project) => Promise<T | Problem>,
  ): Reply<T> {
    return this.projects.in(scope, (project) => signed(project, asked, () => work(project)));
  }

  private async each<T>(
    scope: ProjectKey,
    body: unknown,
    one: (item: unknown) => Reply<T>,
  ): Reply<{ results: readonly (T | Problem)[] }> {
    const read = readBody(wire.itemsBody, body);
    if (isProblem(read)) return read;
    return scopeFault(scope) ?? { results: await Promise.all(read.items.map(one)) };
  }

  private async briefed(
    scope: ProjectKey,
    project: Project,
    reply: wire.ClaimResult | Problem,
  ): Promise<wire.ClaimResult | Problem> {
    if (isProblem(reply) || reply.claim === null) return reply;
    try {
      const events = await this.history.of(scope, reply.claim.task_id);
      return { ...reply, briefing: briefingFor(project.desk(), reply.claim, events) };
    } catch (error) {
      // The work is granted, whatever becomes of its briefing.
      if (storeProblem(error) !== null) return reply;
      throw error;
    }
  }
}

/** In a world of its own, as a simulator is, there are no threads. */
const documentsOf = ({ documents, environment }: CoordinatorOptions): Documents =>
  documents ?? (environment === undefined ? new ThreadedDocuments() : new InlineDocuments(environment));

function signed<T>(project: Project, asked: SessionCommand, work: () => Reply<T>): Reply<T> {
  if (!needsCheck(project, asked)) return work();
  return reachable(() => signatureFault(project, asked)).then((fault) => fault ?? work());
}
