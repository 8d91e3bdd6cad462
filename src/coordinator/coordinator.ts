import { canonicalJson } from '../core/canonical-json.js';
import type { ClaimsCommand } from '../core/claims/commands.js';
import { DEFAULT_LIMITS, type Limits, type Policy } from '../core/claims/policy.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import { readMethodology } from '../core/graph/read-methodology.js';
import { keyIdSchema, sessionIdSchema } from '../core/ids.js';
import { addTasks, type PlanInput, readPlan, renderPlan } from '../core/plan/index.js';
import { kindOf, LIMITS_SUBJECT, POLICY_SUBJECT } from '../core/subject.js';
import { type Blobs, MemoryBlobs } from '../stores/blobs.js';
import { type ProjectKey, type Store, StoreUnavailable } from '../stores/store.js';
import { briefingFor } from './briefing.js';
import { type Caller, OPEN_CALLER } from './caller.js';
import { evidenceFault, roleFault } from './convergence-facts.js';
import { type Desk, policyOf } from './desk.js';
import { type Environment, systemEnvironment } from './environment.js';
import { inputsDigest } from './facts.js';
import { followOthers } from './follower.js';
import { sha256Hex } from './identity.js';
import { KeyRing } from './key-ring.js';
import { MethodologyService } from './methodology/service.js';
import { AppendOperation, readTold } from './operations/append.js';
import { AtomicClaimOperation, ClaimOperation } from './operations/claim.js';
import { type Configuration, ConfigureOperation, invalidMethodology } from './operations/configure.js';
import { HolderOperation } from './operations/holder.js';
import { notAfter, readImported } from './operations/import-events.js';
import { CreateKeyOperation, type KeyScope, noKey, RevokeKeyOperation } from './operations/keys.js';
import { NextOperation } from './operations/next.js';
import { OperatorOperation, type OperatorRequest, type OperatorResult } from './operations/operate.js';
import { PlanOperation, type PlanResult, versionOf } from './operations/plan.js';
import { readBatch, readBody, readClaim, readHandled, readSubject } from './operations/read.js';
import { CloseSessionOperation, OpenSessionOperation, type SessionResult } from './operations/session.js';
import { SettingsOperation } from './operations/settings.js';
import { requestOf } from './operations/shared.js';
import { SubmitOperation } from './operations/submit.js';
import { isProblem, type Problem, problem } from './problem.js';
import type { Project } from './project.js';
import { Projects, reachable } from './projects.js';
import { Queries } from './queries/queries.js';
import { gateResult, releaseResult, renewalResult } from './render.js';
import { filesOf } from './result-files.js';
import { resultFrom } from './results.js';
import { scopeFault, tenantFault } from './scope.js';
import { needsCheck, type SessionCommand, signatureFault } from './signatures.js';
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
}

type Reply<T> = Promise<T | Problem>;

/**
 * The service: commands in, decisions out. It reads and bounds what comes in, hands it to the project it
 * belongs to, and answers in the words of the wire contract. What may happen is decided in core alone.
 */
export class Coordinator {
  readonly queries: Queries;
  readonly methodology: MethodologyService;
  private readonly projects: Projects;
  private readonly store: Store;
  private readonly blobs: Blobs;
  private readonly environment: Environment;
  private readonly sweeper: Sweeper;
  private readonly stopFollowing: () => void;

  private constructor(projects: Projects, options: CoordinatorOptions) {
    this.projects = projects;
    this.store = options.store;
    this.blobs = options.blobs ?? new MemoryBlobs();
    this.environment = options.environment ?? systemEnvironment;
    this.queries = new Queries(projects, options.store, this.blobs);
    this.methodology = new MethodologyService({
      projects,
      store: options.store,
      recordReview: (scope, body, caller) => this.recordReview(scope, body, caller),
    });
    this.sweeper = new Sweeper(projects, this.environment);
    const shared = !options.store.capabilities.single_writer;
    this.stopFollowing = shared ? followOthers(projects, this.environment) : () => {};
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
    this.sweeper.stop();
    this.stopFollowing();
  }

  claimTask(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ClaimResult> {
    const claim = readClaim(body);
    if (isProblem(claim)) return Promise.resolve(claim);
    return this.session(scope, { command: 'claim_task', body }, (project) => {
      const fault = roleFault(project, [claim], caller);
      return fault === null ? project.run(new ClaimOperation(claim, caller)) : Promise.resolve(fault);
    });
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
    return this.in(scope, async (project) => {
      const fault = roleFault(project, claims, caller);
      if (fault !== null) return fault;
      if (mode === 'partial') {
        const replies = claims.map((claim, at) =>
          signed(project, asked[at]!, () => project.run(new ClaimOperation(claim, caller))),
        );
        return { results: await Promise.all(replies) };
      }
      for (const each of asked) {
        const fault = await signed(project, each, async () => null);
        if (fault !== null) return fault;
      }
      const results = await project.run(new AtomicClaimOperation(claims, caller, request_id));
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
      project.run(new HolderOperation(subject, command, renewalResult, read)),
    );
  }

  async releaseClaim(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ReleaseResult> {
    const asked = readHandled(wire.releaseBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const { reason, message = null } = read;
    const command = { type: 'release', handle, reason, message } as const;
    return this.session(scope, { command: 'release_claim', body }, (project) =>
      project.run(new HolderOperation(subject, command, releaseResult, read)),
    );
  }

  async submitResult(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.SubmissionResult> {
    const asked = readHandled(wire.submitBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const misplaced = evidenceFault(read, subject);
    if (misplaced !== null) return misplaced;
    return this.session(scope, { command: 'submit_result', body }, async (project) => {
      const { tenant_id } = scope;
      const size_bytes_max = project.limits.max_result_size_bytes;
      const result = await resultFrom(read, subject, { tenant_id, blobs: this.blobs, size_bytes_max });
      if (isProblem(result)) return result;
      const files = kindOf(subject) === 'edge' ? await filesOf(read, { tenant_id, blobs: this.blobs }) : [];
      if (isProblem(files)) return files;
      const submission = { subject, handle, result, said: read, files, caller };
      return project.run(new SubmitOperation(submission, (of) => this.queries.eventsOf(scope, of)));
    });
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
      project.run(new HolderOperation(subject, command, gateResult, read, request)),
    );
  }

  async resumeClaim(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.GateResult> {
    const asked = readHandled(wire.resumeBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const command = { type: 'resume', handle } as const;
    const request = requestOf(caller, 'resume_claim', read);
    return this.session(scope, { command: 'resume_claim', body }, (project) =>
      project.run(new HolderOperation(subject, command, gateResult, read, request)),
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
    return this.in(scope, (project) =>
      project.run(new HolderOperation(subject, command, gateResult, named, request)),
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
      const ask = () => project.run(new NextOperation(asked, caller, () => project.follow()));
      const { session_id, track } = asked;
      const wait = { session_id, seconds: wait_seconds, track, gone };
      const reply = await waitForWork(project, this.environment, wait, ask);
      return isProblem(reply) || !reply.success ? reply : this.briefed(scope, project, reply);
    });
  }

  async note(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ReleaseResult> {
    const asked = readHandled(wire.noteBody, body, caller);
    if (isProblem(asked)) return asked;
    const { read, subject, handle } = asked;
    const command = { type: 'note', handle, text: read.text } as const;
    const request = requestOf(caller, 'note', read);
    return this.session(scope, { command: 'note', body }, (project) =>
      project.run(new HolderOperation(subject, command, releaseResult, read, request)),
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
    return this.session(scope, { command: 'append_event', body }, (project) =>
      project.run(new AppendOperation(subject, read, caller)),
    );
  }

  /** What other tools have written, brought in as it is. It moves no head, so nothing has to be decided. */
  async importEvents(scope: ProjectKey, body: unknown): Reply<ImportedCount> {
    const read = readBody(wire.importBody, body);
    if (isProblem(read)) return read;
    const events = readImported(scope, read);
    if (isProblem(events)) return events;
    return this.in(scope, (project) =>
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
    return this.in(scope, (project) =>
      project.run(new OperatorOperation(subject, asked, caller, (of) => this.queries.eventsOf(scope, of))),
    );
  }

  async openSession(tenant_id: string, body: unknown, caller = OPEN_CALLER): Reply<SessionResult> {
    const read = readBody(wire.sessionBody, body);
    if (isProblem(read)) return read;
    const { user_id, project_id, public_key = null } = read;
    const session_id = read.session_id ?? this.newSessionId();
    const opening = { session_id, user_id, public_key };
    const request = requestOf(caller, 'open_session', read);
    return this.in({ tenant_id, project_id }, (project) =>
      project.run(new OpenSessionOperation(opening, request)),
    );
  }

  /** Closes a session wherever it works, and releases what it holds, each claim by its own fenced release. */
  async closeSession(tenant_id: string, session_id: string, caller = OPEN_CALLER): Reply<SessionResult> {
    if (!sessionIdSchema.safeParse(session_id).success) return noSession();
    return reachable(async () => {
      let closed: SessionResult | Problem = noSession();
      for (const project_id of await this.queries.projectsOf(tenant_id)) {
        const key = { tenant_id, project_id };
        const reply = await this.in(key, (project) => this.closeIn(project, session_id, caller));
        // Closed in some projects and not in all is not closed: repeating it finishes what is left.
        if (isProblem(reply)) return reply;
        if (reply.success) closed = reply;
      }
      return closed;
    });
  }

  async putPlan(
    scope: ProjectKey,
    plan: unknown,
    options: { if_match?: number; request_id?: string } = {},
    caller = OPEN_CALLER,
  ): Reply<PlanResult> {
    const { if_match = null, request_id } = options;
    const source = typeof plan === 'string' ? { yaml: plan } : { json: plan };
    const asked = {
      verb: 'put_plan' as const,
      propose: (current, standing) => readPlan(source, current, standing),
      if_match,
      request_id,
      body: typeof plan === 'string' ? sha256Hex(plan) : plan,
    } satisfies ConstructorParameters<typeof PlanOperation>[0];
    return this.in(scope, (project) => project.run(new PlanOperation(asked, caller)));
  }

  async addTasks(
    scope: ProjectKey,
    tasks: unknown,
    options: { request_id?: string } = {},
    caller = OPEN_CALLER,
  ): Reply<PlanResult> {
    const asked = {
      verb: 'add_tasks' as const,
      propose: (current, standing) => addTasks(current, tasks, standing),
      if_match: null,
      request_id: options.request_id,
      body: tasks,
    } satisfies ConstructorParameters<typeof PlanOperation>[0];
    return this.in(scope, (project) => project.run(new PlanOperation(asked, caller)));
  }

  getPlan(scope: ProjectKey): Reply<{ version: number; plan: PlanInput }> {
    return this.in(scope, async (project) => ({
      version: versionOf(project.desk()),
      plan: renderPlan(project.state.plan, scope.project_id),
    }));
  }

  getPolicy(scope: ProjectKey): Reply<Policy> {
    return this.in(scope, async (project) => project.desk().policy);
  }

  async putPolicy(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<Policy> {
    const read = readBody(wire.policyBody, body);
    if (isProblem(read)) return read;
    const { request_id: _, signature: __, stale_policy, ...rest } = read;
    return this.in(scope, (project) =>
      project.run(
        new SettingsOperation(
          POLICY_SUBJECT,
          'POLICY_CHANGED',
          (desk) => {
            const policy = policyOf(desk.record(POLICY_SUBJECT));
            const both =
              typeof stale_policy === 'string' ? { task: stale_policy, edge: stale_policy } : stale_policy;
            return { ...policy, ...rest, stale_policy: { ...policy.stale_policy, ...both } } as Policy;
          },
          caller,
          read,
        ),
      ),
    );
  }

  /** Takes the files of a workspace as what the project says of how it works. */
  async configure(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ConfigureResult> {
    const read = readBody(wire.configureBody, body);
    if (isProblem(read)) return read;
    const { files, request_id } = read;
    const reading = readMethodology(new Map(Object.entries(files)));
    if (!reading.ok) return invalidMethodology(reading.faults);
    const asked = { reading, request_id, digest: sha256Hex(canonicalJson(files)) };
    return this.in(scope, (project) => configureIn(project, asked, caller));
  }

  async getLimits(tenant_id: string): Reply<Limits> {
    const fault = tenantFault(tenant_id);
    if (fault !== null) return fault;
    return reachable(async () => {
      const tenant = await this.projects.tenant(tenant_id);
      await tenant.project.follow();
      return tenant.currentLimits();
    });
  }

  async putLimits(tenant_id: string, body: unknown, caller = OPEN_CALLER): Reply<Limits> {
    const read = readBody(wire.limitsBody, body);
    if (isProblem(read)) return read;
    const fault = tenantFault(tenant_id);
    if (fault !== null) return fault;
    const { request_id: _, signature: __, ...change } = read;
    return reachable(async () => {
      const tenant = await this.projects.tenant(tenant_id);
      const changed = (): Limits => ({ ...tenant.currentLimits(), ...change }) as Limits;
      const operation = new SettingsOperation(LIMITS_SUBJECT, 'LIMITS_CHANGED', changed, caller, read);
      return tenant.project.run(operation);
    });
  }

  /** The platform's keys, for whoever must know who asks. */
  keyRing(): Promise<KeyRing> {
    return KeyRing.open(this.projects);
  }

  async createKey(scope: KeyScope, body: unknown, caller = OPEN_CALLER): Reply<wire.KeyCreated> {
    const read = readBody(wire.keyBody, body);
    if (isProblem(read)) return read;
    if (read.role === 'operator' && !scope.platform) {
      return problem('FORBIDDEN', 'A key of role operator is made by an operator.');
    }
    return this.withKeys(scope, ({ project }) =>
      project.run(new CreateKeyOperation(scope, read, caller, this.environment)),
    );
  }

  listKeys(scope: KeyScope): Reply<{ keys: readonly wire.Key[] }> {
    return this.withKeys(scope, async (ring) => {
      await ring.project.follow();
      return { keys: ring.list(scope) };
    });
  }

  async revokeKey(scope: KeyScope, key_id: string, caller = OPEN_CALLER): Reply<wire.Key> {
    if (!keyIdSchema.safeParse(key_id).success) return noKey();
    return this.withKeys(scope, ({ project }) => project.run(new RevokeKeyOperation(scope, key_id, caller)));
  }

  async putBlob(
    tenant_id: string,
    sha256: string,
    bytes: Uint8Array,
  ): Reply<{ sha256: string; size_bytes: number }> {
    const fault = tenantFault(tenant_id);
    if (fault !== null) return fault;
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

  private in<T>(scope: ProjectKey, work: (project: Project) => Promise<T | Problem>): Reply<T> {
    const project = this.projects.atWork(scope);
    return project === undefined ? this.projects.with(scope, work) : work(project);
  }

  /** A command of a session: where it is signed, or has to be, only that session's own reaches the queue. */
  private session<T>(
    scope: ProjectKey,
    asked: SessionCommand,
    work: (project: Project) => Promise<T | Problem>,
  ): Reply<T> {
    return this.in(scope, (project) => signed(project, asked, () => work(project)));
  }

  private async withKeys<T>(scope: KeyScope, work: (ring: KeyRing) => Reply<T>): Reply<T> {
    return tenantFault(scope.tenant_id) ?? reachable(async () => work(await this.keyRing()));
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
    reply: wire.ClaimResult,
  ): Promise<wire.ClaimResult> {
    if (reply.claim === null) return reply;
    try {
      const events: readonly EventEnvelope[] = await this.queries.eventsOf(scope, reply.claim.task_id);
      return { ...reply, briefing: briefingFor(project.desk(), reply.claim, events) };
    } catch (error) {
      // The work is granted, whatever becomes of its briefing.
      if (error instanceof StoreUnavailable) return reply;
      throw error;
    }
  }

  private async closeIn(project: Project, session_id: string, caller: Caller): Reply<SessionResult> {
    const closed = await project.run(new CloseSessionOperation(session_id, caller));
    if (isProblem(closed) || !closed.success) return closed;
    for (const subject of [...(project.state.bySession.get(session_id) ?? [])]) {
      const { generation } = project.desk().head(subject);
      const handle = { generation, session_id, claim_id: null };
      const command = { type: 'release', handle, reason: 'SESSION_CLOSED', message: null } as const;
      await project.run(new HolderOperation(subject, command, releaseResult));
    }
    return closed;
  }

  private newSessionId(): string {
    return `sess-${Buffer.from(this.environment.randomBytes(12)).toString('hex')}`;
  }
}

/** As many features as a unit takes, and then the next, until all is written. */
async function configureIn(
  project: Project,
  asked: Configuration,
  caller: Caller,
): Reply<wire.ConfigureResult> {
  let changed = 0;
  for (let part = 0; ; part += 1) {
    const request_id = part === 0 || !asked.request_id ? asked.request_id : `${asked.request_id}~${part}`;
    const step = await project.run(new ConfigureOperation({ ...asked, request_id }, caller));
    if (isProblem(step)) return step;
    const { left, ...done } = step;
    changed += done.features_changed;
    if (left > 0) continue;
    const reason = part > 0 ? 'CONFIGURED' : done.reason;
    return { ...done, reason, features_changed: changed };
  }
}

function signed<T>(project: Project, asked: SessionCommand, work: () => Reply<T>): Reply<T> {
  if (!needsCheck(project, asked)) return work();
  return reachable(() => signatureFault(project, asked)).then((fault) => fault ?? work());
}

const noSession = (): Problem => problem('NOT_FOUND', 'There is no session by that id.');
