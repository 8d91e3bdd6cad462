import type { AgentEventFilter, EventFilter } from '../core/contract/events.js';
import type { OperationId } from '../core/contract/operations.js';
import type { ExpiredClaimsQuery } from '../core/contract/overview.js';
import type { PlanInput, PlanView } from '../core/contract/plan.js';
import type { AtQuery, PageQuery } from '../core/contract/schema.js';
import type { OperatorVerb, TaskFilter, TaskState } from '../core/contract/tasks.js';
import type { SignedEvidence } from '../core/engine/evidence.js';
import type { TaskInput } from '../core/plan/index.js';
import type { SignedCommand } from '../core/signing.js';
import { withoutUndefined } from '../core/without-undefined.js';
import { CallBatcher } from './call-batcher.js';
import { ProjectEndpoint, withEnvAgent, withEnvSession, withRequestId } from './endpoint.js';
import { type FollowedEvent, type FollowObserver, follow } from './follow.js';
import { newRequestId } from './http.js';
import { MethodologyClient } from './methodology.js';
import { type RenewalAttempt, withExpectedGeneration } from './renewer.js';
import { type ApiProblem, type ClaimReply, isProblem, type NextReply } from './replies.js';
import type {
  AddNoteRequest,
  BodyOf,
  NextTaskRequest,
  OperateTaskRequest,
  OperationReplyPromise,
  ReplyPromise,
  ReplyTo,
  RequestTo,
} from './requests.js';

/**
 * One method per call of the wire contract. A call resolves with the reply, which may be a refusal with a code, or with a
 * problem. A request that may have taken effect is repeated under the same request_id.
 */
export class ApiClient extends ProjectEndpoint {
  readonly methodology = new MethodologyClient(this.project, (request) =>
    this.http.json({ ...request, headers: { 'x-genesis-tenant': this.tenant } }),
  );
  private readonly claimBatcher = this.createBatcher<'claim_task'>('/claims', 'claims');
  private readonly renewalBatcher = this.createBatcher<'renew_lease'>('/claims/renew', 'items');
  private readonly releaseBatcher = this.createBatcher<'release_claim'>('/claims/release', 'items');
  private readonly submissionBatcher = this.createBatcher<'submit_result'>('/results', 'items');

  // Work

  claimTask(claim: RequestTo<'claim_task'>): OperationReplyPromise<'claim_task'> {
    return this.sendSigned('claim_task', withEnvAgent(claim), (body) => this.claimBatcher.call(body));
  }

  /** With a key, each claim of the batch is signed separately. */
  async batchClaim(
    claims: readonly RequestTo<'claim_task'>[],
    options: { mode?: 'partial' | 'all_or_nothing'; request_id?: string } = {},
  ): ReplyPromise<BatchClaimReply> {
    const batch = withRequestId(options);
    // Each claim has the request id that the server would derive for it, so that a batch that is sent again repeats every
    // claim, whether it is signed or not.
    const bodies: Record<string, unknown>[] = claims.map((claim, index) => ({
      request_id: `${batch.request_id}~${index}`,
      ...withoutUndefined(withEnvAgent(claim)),
    }));
    const send = () => {
      const signed = bodies.map((body) => this.withSignature('claim_task', body));
      return this.command<BatchClaimReply>('/claims/batch', { claims: signed, ...batch });
    };
    const reply = await send();
    const unsigned = bodies.filter((_, index) =>
      isSignatureRequired(isProblem(reply) ? reply : reply.results[index]),
    );
    const sessionIds = new Set(unsigned.map(({ session_id }) => session_id));
    let hasOpenedSession = false;
    for (const sessionId of sessionIds)
      hasOpenedSession = (await this.openSigningSession(sessionId)) || hasOpenedSession;
    return hasOpenedSession ? send() : reply;
  }

  renewLease(renewal: RequestTo<'renew_lease'>): OperationReplyPromise<'renew_lease'> {
    return this.sendSigned('renew_lease', withEnvSession(renewal), (body) => this.renewalBatcher.call(body));
  }

  /** Renews a lease with one attempt, in a request of its own: for a caller that watches the lease and retries by itself. */
  renewOnce({
    handle,
    lease_seconds,
    request_id,
    timeout_seconds,
  }: RenewalAttempt): OperationReplyPromise<'renew_lease'> {
    const renewal = { lease_duration_seconds: lease_seconds, request_id };
    const body = { ...withExpectedGeneration(handle), ...renewal };
    const singleAttempt = { timeout_seconds, tries: 1 };
    return this.sendSigned('renew_lease', body, (signed) =>
      this.command('/claims/renew', signed, singleAttempt),
    );
  }

  releaseClaim(release: RequestTo<'release_claim'>): OperationReplyPromise<'release_claim'> {
    return this.sendSigned('release_claim', withEnvSession(release), (body) =>
      this.releaseBatcher.call(body),
    );
  }

  submitResult(submission: RequestTo<'submit_result'>): OperationReplyPromise<'submit_result'> {
    return this.sendSigned('submit_result', withEnvSession(submission), (body) =>
      this.submissionBatcher.call(body),
    );
  }

  /** Claims the best ready work and returns it with its briefing. */
  next(request: NextTaskRequest = {}, options: { signal?: AbortSignal } = {}): ReplyPromise<NextReply> {
    const callOptions = { wait_seconds: request.wait_seconds ?? 0, signal: options.signal };
    return this.sendSigned('next', withEnvAgent(request), (body) =>
      this.command<NextReply>('/next', body, callOptions),
    );
  }

  note(note: AddNoteRequest): OperationReplyPromise<'note'> {
    const path = `/tasks/${encodeURIComponent(note.task_id)}/notes`;
    return this.sendSigned('note', withEnvSession(note), (body) => this.command(path, body));
  }

  /** Suspends the lease while a person reviews the work so far. Only the holder may call it. */
  suspendClaim(request: RequestTo<'suspend_claim'>): OperationReplyPromise<'suspend_claim'> {
    return this.sendSigned('suspend_claim', withEnvSession(request), (body) =>
      this.command('/claims/suspend', body),
    );
  }

  /** Resumes a suspended claim, before or after a person has decided on its candidate. */
  resumeClaim(request: RequestTo<'resume_claim'>): OperationReplyPromise<'resume_claim'> {
    return this.sendSigned('resume_claim', withEnvSession(request), (body) =>
      this.command('/claims/resume', body),
    );
  }

  /** Proposes a candidate of an edge, so that runners run its checks. */
  proposeCandidate(request: RequestTo<'propose_candidate'>): OperationReplyPromise<'propose_candidate'> {
    return this.sendSigned('propose_candidate', withEnvSession(request), (body) =>
      this.command('/candidates', body),
    );
  }

  // Tasks, results and history

  task(taskId: string, options: AtQuery = {}): OperationReplyPromise<'get_task_state'> {
    return this.read(this.taskPath(taskId), options);
  }

  tasks(filter: TaskFilter = {}): OperationReplyPromise<'list_tasks'> {
    return this.read(this.projectPath('/tasks'), { ...filter });
  }

  taskStates(task_ids: readonly string[]): ReplyPromise<{ tasks: readonly (TaskState | ApiProblem)[] }> {
    return this.http.json({ method: 'POST', path: this.projectPath('/tasks/batch_get'), body: { task_ids } });
  }

  history(taskId: string, options: AtQuery = {}): OperationReplyPromise<'get_claim_history'> {
    return this.read(this.taskPath(taskId, '/history'), options);
  }

  results(taskId: string, page: PageQuery & AtQuery = {}): OperationReplyPromise<'list_results'> {
    return this.read(this.taskPath(taskId, '/results'), { ...page });
  }

  result(taskId: string, resultId: string): OperationReplyPromise<'get_result'> {
    return this.read(this.taskPath(taskId, `/results/${encodeURIComponent(resultId)}`));
  }

  /** With a session id, the reply also says whether that session holds the work. */
  explain(taskId: string, sessionId?: string): OperationReplyPromise<'explain'> {
    const query = sessionId === undefined ? '' : `?session_id=${encodeURIComponent(sessionId)}`;
    return this.read(this.taskPath(taskId, `/explain${query}`));
  }

  putBlob(sha256: string, bytes: Uint8Array): OperationReplyPromise<'put_blob'> {
    const content_type = 'application/octet-stream';
    return this.http.json({
      method: 'PUT',
      path: this.projectPath(`/blobs/${sha256}`),
      body: bytes,
      content_type,
    });
  }

  /** Reads a blob. Returns a problem with the code `REPLY_TOO_LARGE` if the blob is larger than `bytes_max`. */
  getBlob(sha256: string, options: { bytes_max?: number } = {}): ReplyPromise<Uint8Array> {
    return this.http.bytes({ method: 'GET', path: this.projectPath(`/blobs/${sha256}`) }, options.bytes_max);
  }

  status(options: AtQuery = {}): OperationReplyPromise<'status'> {
    return this.read(this.projectPath('/status'), options);
  }

  agents(options: AtQuery = {}): OperationReplyPromise<'agents'> {
    return this.read(this.projectPath('/agents'), options);
  }

  /** Expired claims whose work was not claimed again. */
  expiredClaims(query: ExpiredClaimsQuery = {}): OperationReplyPromise<'list_expired_claims'> {
    return this.read(this.projectPath('/claims/expired'), { ...query });
  }

  projects(page: PageQuery = {}): OperationReplyPromise<'list_projects'> {
    return this.read(this.tenantPath('/projects'), { ...page });
  }

  // Operators and reviewers

  operate(
    taskId: string,
    verb: OperatorVerb,
    request: OperateTaskRequest,
  ): OperationReplyPromise<OperatorVerb> {
    return this.command(`/tasks/${encodeURIComponent(taskId)}/${verb}`, request);
  }

  /** Decides on the candidate of a suspended claim or an escalated result. */
  review(request: BodyOf<'record_review'>): OperationReplyPromise<'record_review'> {
    return this.command('/reviews', request);
  }

  // Sessions

  openSession(
    request: Omit<BodyOf<'open_session'>, 'project_id'> & { project_id?: string },
  ): OperationReplyPromise<'open_session'> {
    const body = withRequestId({ project_id: this.project, ...request });
    return this.http.json({ method: 'POST', path: this.tenantPath('/sessions'), body });
  }

  closeSession(sessionId: string): OperationReplyPromise<'close_session'> {
    return this.http.json({ method: 'DELETE', path: this.sessionPath(sessionId) });
  }

  sessions(): OperationReplyPromise<'list_sessions'> {
    return this.read(this.tenantPath('/sessions'));
  }

  session(sessionId: string): OperationReplyPromise<'get_session'> {
    return this.read(this.sessionPath(sessionId));
  }

  sessionClaims(sessionId: string): OperationReplyPromise<'get_active_claims_for_session'> {
    return this.read(`${this.sessionPath(sessionId)}/claims`);
  }

  // Plan and settings

  plan(options: AtQuery = {}): ReplyPromise<PlanView> {
    return this.read(this.projectPath('/plan'), options);
  }

  /** Replaces the plan. The new plan is YAML text or data; `if_match` is the version of the plan that it replaces. */
  putPlan(
    plan: string | PlanInput,
    options: { if_match?: number; request_id?: string } = {},
  ): OperationReplyPromise<'put_plan'> {
    const { if_match, request_id = newRequestId() } = options;
    const headers: Record<string, string> = if_match === undefined ? {} : { 'if-match': `"${if_match}"` };
    const content = typeof plan === 'string' ? { content_type: 'application/yaml' } : {};
    const request = {
      method: 'PUT',
      path: this.projectPath('/plan'),
      query: { request_id },
      body: plan,
    } as const;
    return this.http.json({ ...request, headers, ...content });
  }

  addTasks(
    tasks: readonly TaskInput[],
    options: { request_id?: string } = {},
  ): OperationReplyPromise<'add_tasks'> {
    return this.command('/tasks', { tasks, ...options });
  }

  policy(): OperationReplyPromise<'get_policy'> {
    return this.read(this.projectPath('/policy'));
  }

  putPolicy(change: BodyOf<'put_policy'>): OperationReplyPromise<'put_policy'> {
    return this.http.json({ method: 'PUT', path: this.projectPath('/policy'), body: withRequestId(change) });
  }

  limits(): OperationReplyPromise<'get_limits'> {
    return this.read(this.tenantPath('/limits'));
  }

  putLimits(change: BodyOf<'put_limits'>): OperationReplyPromise<'put_limits'> {
    return this.http.json({ method: 'PUT', path: this.tenantPath('/limits'), body: withRequestId(change) });
  }

  /** Name, role and tenant of this client's credential, and the operations that it may call. */
  whoami(): OperationReplyPromise<'whoami'> {
    return this.read('/api/whoami');
  }

  keys(): OperationReplyPromise<'list_keys'> {
    return this.read(this.tenantPath('/keys'));
  }

  createKey(request: BodyOf<'create_key'>): OperationReplyPromise<'create_key'> {
    return this.http.json({ method: 'POST', path: this.tenantPath('/keys'), body: withRequestId(request) });
  }

  revokeKey(keyId: string): OperationReplyPromise<'revoke_key'> {
    return this.http.json({ method: 'DELETE', path: this.tenantPath(`/keys/${encodeURIComponent(keyId)}`) });
  }

  // Runners

  runners(): OperationReplyPromise<'list_runners'> {
    return this.read(this.projectPath('/runners'));
  }

  enrolRunner(request: BodyOf<'enrol_runner'>): OperationReplyPromise<'enrol_runner'> {
    return this.http.json({
      method: 'POST',
      path: this.projectPath('/runners'),
      body: withRequestId(request),
    });
  }

  revokeRunner(runnerId: string): OperationReplyPromise<'revoke_runner'> {
    return this.http.json({
      method: 'DELETE',
      path: this.projectPath(`/runners/${encodeURIComponent(runnerId)}`),
    });
  }

  /** The candidates that wait for a runner's evidence, and those that have it. */
  candidates(query: PageQuery = {}): OperationReplyPromise<'list_candidates'> {
    return this.read(this.projectPath('/candidates'), { ...query });
  }

  recordEvidence(evidence: SignedEvidence): OperationReplyPromise<'record_evidence'> {
    return this.http.json({
      method: 'POST',
      path: this.projectPath('/evidence'),
      body: withRequestId({ evidence }),
    });
  }

  // Events

  /** The last signed checkpoint of the log. */
  auditHead(): OperationReplyPromise<'audit_head'> {
    return this.read(this.projectPath('/audit/head'));
  }

  /** A proof that the last checkpoint covers the event at a position. */
  auditProof(position: number): OperationReplyPromise<'audit_proof'> {
    return this.read(this.projectPath('/audit/proof'), { position });
  }

  /** A proof that the log at a checkpoint is a prefix of the log at a later checkpoint, by default the last. */
  auditConsistency(from: number, to?: number): OperationReplyPromise<'audit_consistency'> {
    return this.read(this.projectPath('/audit/consistency'), { from, to });
  }

  /** The keys that signed checkpoints of the log. */
  auditKeys(): OperationReplyPromise<'audit_keys'> {
    return this.read(this.projectPath('/audit/keys'));
  }

  /** Revokes a lost audit key and enrols the server's current key in its place. */
  auditReplaceKey(request: BodyOf<'audit_replace_key'>): OperationReplyPromise<'audit_replace_key'> {
    return this.command('/audit/keys/replace', { ...request });
  }

  auditRevokeKey(request: BodyOf<'audit_revoke_key'>): OperationReplyPromise<'audit_revoke_key'> {
    return this.command('/audit/keys/revoke', { ...request });
  }

  events(filter: EventFilter = {}): OperationReplyPromise<'events'> {
    return this.read(this.projectPath('/events'), { ...filter });
  }

  /** Events of an agent in all projects of the tenant. */
  agentEvents(filter: AgentEventFilter): OperationReplyPromise<'agent_events'> {
    return this.read(this.tenantPath('/events'), { ...filter });
  }

  /** Appends a methodology event. */
  appendEvent(event: Readonly<Record<string, unknown>>): OperationReplyPromise<'append_event'> {
    const send = (body: object): OperationReplyPromise<'append_event'> => this.command('/events', body);
    // Only the key of a session can sign an event.
    return event.session_id === undefined ? send(event) : this.sendSigned('append_event', event, send);
  }

  /**
   * Imports at most 1,000 events of other tools, and the events in `chunks`: digests of uploaded blobs, each a JSON
   * array of events. Imports all of them or none, unless `in_parts` is set. Skips events that are already present.
   */
  importEvents(
    events: readonly Readonly<Record<string, unknown>>[],
    options: { readonly chunks?: readonly string[]; readonly in_parts?: boolean } = {},
  ): OperationReplyPromise<'import_events'> {
    return this.command('/events/import', { events, ...options });
  }

  /**
   * Trusts imported logs: completes the edges that they report as converged and that were never claimed here. Call this
   * method again while `more` is true in its reply.
   */
  trustImports(request: BodyOf<'trust_imports'>): OperationReplyPromise<'trust_imports'> {
    return this.command('/events/import/trust', { ...request });
  }

  /**
   * Yields every event that matches the filter, once and in order, and reconnects as needed. It starts after the cursor
   * `after`: by default with the first event; if `after` is `now`, with the next new one.
   */
  follow(
    filter: Omit<EventFilter, 'limit'> = {},
    options: FollowObserver & { signal?: AbortSignal } = {},
  ): AsyncGenerator<FollowedEvent> {
    const request = {
      method: 'GET',
      path: this.projectPath('/events/stream'),
      query: { ...filter },
    } as const;
    return follow(this.http, request, options.signal ?? new AbortController().signal, options);
  }

  /**
   * Sends a session's command, signed if there is a key. If the server replies SIGNATURE_REQUIRED, opens the session
   * with the key and sends the same request again, once.
   */
  private async sendSigned<Reply>(
    command: SignedCommand,
    request: object,
    send: (body: Record<string, unknown>) => ReplyPromise<Reply>,
  ): ReplyPromise<Reply> {
    const body: Record<string, unknown> = withRequestId(request);
    const reply = await send(this.withSignature(command, body));
    if (!isSignatureRequired(reply) || !(await this.openSigningSession(body.session_id))) return reply;
    return send(this.withSignature(command, body));
  }

  private async openSigningSession(sessionId: unknown): Promise<boolean> {
    if (typeof sessionId !== 'string' || !(await this.loadSigningKey())) return false;
    const { public_key } = this;
    if (public_key === null) return false;
    const opened = await this.openSession({ session_id: sessionId, public_key });
    return !isProblem(opened) && opened.success;
  }

  private createBatcher<Id extends OperationId>(path: string, listName: 'claims' | 'items') {
    return new CallBatcher<object, ReplyTo<Id>>(
      (body) => this.command(path, body),
      (bodyTexts) => this.batchCommand(`${path}/batch`, listName, bodyTexts),
    );
  }
}

interface BatchClaimReply {
  readonly results: readonly (ClaimReply | ApiProblem)[];
}

const isSignatureRequired = (reply: unknown): boolean =>
  isProblem(reply) && reply.code === 'SIGNATURE_REQUIRED';
