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
 * One method per call of the wire contract. A call resolves with a grant, a named refusal or a Problem. A request
 * that may have taken effect is repeated under the same request_id.
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
    return this.signed('claim_task', withEnvAgent(claim), (body) => this.claimBatcher.call(body));
  }

  /** With a key, each claim of the batch is signed separately. */
  async batchClaim(
    claims: readonly RequestTo<'claim_task'>[],
    options: { mode?: 'partial' | 'all_or_nothing'; request_id?: string } = {},
  ): ReplyPromise<BatchClaimReply> {
    const batch = withRequestId(options);
    // Request ids are derived as the server derives them for unsigned claims, so that a batch that is sent again is the
    // same request.
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
    let hasOpened = false;
    for (const sessionId of sessionIds) hasOpened = (await this.openSigningSession(sessionId)) || hasOpened;
    return hasOpened ? send() : reply;
  }

  renewLease(renewal: RequestTo<'renew_lease'>): OperationReplyPromise<'renew_lease'> {
    return this.signed('renew_lease', withEnvSession(renewal), (body) => this.renewalBatcher.call(body));
  }

  /** A single attempt in its own request, for a caller that watches a lease and retries by itself. */
  renewOnce({
    handle,
    lease_seconds,
    request_id,
    timeout_seconds,
  }: RenewalAttempt): OperationReplyPromise<'renew_lease'> {
    const renewal = { lease_duration_seconds: lease_seconds, request_id };
    const body = { ...withExpectedGeneration(handle), ...renewal };
    const once = { timeout_seconds, tries: 1 };
    return this.signed('renew_lease', body, (signed) => this.command('/claims/renew', signed, once));
  }

  releaseClaim(release: RequestTo<'release_claim'>): OperationReplyPromise<'release_claim'> {
    return this.signed('release_claim', withEnvSession(release), (body) => this.releaseBatcher.call(body));
  }

  submitResult(submission: RequestTo<'submit_result'>): OperationReplyPromise<'submit_result'> {
    return this.signed('submit_result', withEnvSession(submission), (body) =>
      this.submissionBatcher.call(body),
    );
  }

  /** Claims the best ready work and returns it with its briefing. */
  next(request: NextTaskRequest = {}, options: { signal?: AbortSignal } = {}): ReplyPromise<NextReply> {
    const call = { wait_seconds: request.wait_seconds ?? 0, signal: options.signal };
    return this.signed('next', withEnvAgent(request), (body) => this.command<NextReply>('/next', body, call));
  }

  note(note: AddNoteRequest): OperationReplyPromise<'note'> {
    const path = `/tasks/${encodeURIComponent(note.task_id)}/notes`;
    return this.signed('note', withEnvSession(note), (body) => this.command(path, body));
  }

  /** Suspends the lease while a person reviews the work so far. Only the holder may call it. */
  suspendClaim(request: RequestTo<'suspend_claim'>): OperationReplyPromise<'suspend_claim'> {
    return this.signed('suspend_claim', withEnvSession(request), (body) =>
      this.command('/claims/suspend', body),
    );
  }

  /** Resumes a suspended claim, whether it has been decided on or not. */
  resumeClaim(request: RequestTo<'resume_claim'>): OperationReplyPromise<'resume_claim'> {
    return this.signed('resume_claim', withEnvSession(request), (body) =>
      this.command('/claims/resume', body),
    );
  }

  /** Proposes a candidate of an edge, so that runners run its checks. */
  proposeCandidate(request: RequestTo<'propose_candidate'>): OperationReplyPromise<'propose_candidate'> {
    return this.signed('propose_candidate', withEnvSession(request), (body) =>
      this.command('/candidates', body),
    );
  }

  // Tasks, results and history

  task(taskId: string, options: AtQuery = {}): OperationReplyPromise<'get_task_state'> {
    return this.read(this.taskPath(taskId), options);
  }

  tasks(filter: TaskFilter = {}): OperationReplyPromise<'list_tasks'> {
    return this.read(this.path('/tasks'), { ...filter });
  }

  taskStates(task_ids: readonly string[]): ReplyPromise<{ tasks: readonly (TaskState | ApiProblem)[] }> {
    return this.http.json({ method: 'POST', path: this.path('/tasks/batch_get'), body: { task_ids } });
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
    return this.http.json({ method: 'PUT', path: this.path(`/blobs/${sha256}`), body: bytes, content_type });
  }

  /** A larger blob than `bytes_max` is a problem with the code `REPLY_TOO_LARGE`. */
  getBlob(sha256: string, options: { bytes_max?: number } = {}): ReplyPromise<Uint8Array> {
    return this.http.bytes({ method: 'GET', path: this.path(`/blobs/${sha256}`) }, options.bytes_max);
  }

  status(options: AtQuery = {}): OperationReplyPromise<'status'> {
    return this.read(this.path('/status'), options);
  }

  agents(options: AtQuery = {}): OperationReplyPromise<'agents'> {
    return this.read(this.path('/agents'), options);
  }

  /** Expired claims whose work was not claimed again. */
  expiredClaims(query: ExpiredClaimsQuery = {}): OperationReplyPromise<'list_expired_claims'> {
    return this.read(this.path('/claims/expired'), { ...query });
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
    return this.read(this.path('/plan'), options);
  }

  /** The plan as YAML text or as data. `if_match` is the version it replaces. */
  putPlan(
    plan: string | PlanInput,
    options: { if_match?: number; request_id?: string } = {},
  ): OperationReplyPromise<'put_plan'> {
    const { if_match, request_id = newRequestId() } = options;
    const headers: Record<string, string> = if_match === undefined ? {} : { 'if-match': `"${if_match}"` };
    const content = typeof plan === 'string' ? { content_type: 'application/yaml' } : {};
    const request = { method: 'PUT', path: this.path('/plan'), query: { request_id }, body: plan } as const;
    return this.http.json({ ...request, headers, ...content });
  }

  addTasks(
    tasks: readonly TaskInput[],
    options: { request_id?: string } = {},
  ): OperationReplyPromise<'add_tasks'> {
    return this.command('/tasks', { tasks, ...options });
  }

  policy(): OperationReplyPromise<'get_policy'> {
    return this.read(this.path('/policy'));
  }

  putPolicy(change: BodyOf<'put_policy'>): OperationReplyPromise<'put_policy'> {
    return this.http.json({ method: 'PUT', path: this.path('/policy'), body: withRequestId(change) });
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
    return this.read(this.path('/runners'));
  }

  enrolRunner(request: BodyOf<'enrol_runner'>): OperationReplyPromise<'enrol_runner'> {
    return this.http.json({ method: 'POST', path: this.path('/runners'), body: withRequestId(request) });
  }

  revokeRunner(runnerId: string): OperationReplyPromise<'revoke_runner'> {
    return this.http.json({ method: 'DELETE', path: this.path(`/runners/${encodeURIComponent(runnerId)}`) });
  }

  /** The candidates that wait for a runner, or have its evidence. */
  candidates(query: PageQuery = {}): OperationReplyPromise<'list_candidates'> {
    return this.read(this.path('/candidates'), { ...query });
  }

  recordEvidence(evidence: SignedEvidence): OperationReplyPromise<'record_evidence'> {
    return this.http.json({
      method: 'POST',
      path: this.path('/evidence'),
      body: withRequestId({ evidence }),
    });
  }

  // Events

  /** The last signed checkpoint of the log. */
  auditHead(): OperationReplyPromise<'audit_head'> {
    return this.read(this.path('/audit/head'));
  }

  /** A proof that the event at a position is in the log of the last checkpoint. */
  auditProof(position: number): OperationReplyPromise<'audit_proof'> {
    return this.read(this.path('/audit/proof'), { position });
  }

  /** A proof that the log at a checkpoint is a prefix of the log at a later checkpoint, by default the last. */
  auditConsistency(from: number, to?: number): OperationReplyPromise<'audit_consistency'> {
    return this.read(this.path('/audit/consistency'), { from, to });
  }

  /** The keys that signed checkpoints of the log. */
  auditKeys(): OperationReplyPromise<'audit_keys'> {
    return this.read(this.path('/audit/keys'));
  }

  /** Revokes a lost audit key and enrols the server's current key in its place. */
  auditReplaceKey(request: BodyOf<'audit_replace_key'>): OperationReplyPromise<'audit_replace_key'> {
    return this.command('/audit/keys/replace', { ...request });
  }

  auditRevokeKey(request: BodyOf<'audit_revoke_key'>): OperationReplyPromise<'audit_revoke_key'> {
    return this.command('/audit/keys/revoke', { ...request });
  }

  events(filter: EventFilter = {}): OperationReplyPromise<'events'> {
    return this.read(this.path('/events'), { ...filter });
  }

  /** Events of an agent in all projects of the tenant. */
  agentEvents(filter: AgentEventFilter): OperationReplyPromise<'agent_events'> {
    return this.read(this.tenantPath('/events'), { ...filter });
  }

  /** Appends a methodology event. */
  appendEvent(event: Readonly<Record<string, unknown>>): OperationReplyPromise<'append_event'> {
    const send = (body: object): OperationReplyPromise<'append_event'> => this.command('/events', body);
    // A report outside of any session has no key to be signed with.
    return event.session_id === undefined ? send(event) : this.signed('append_event', event, send);
  }

  /**
   * Imports events of other tools, at most 1,000 at once, and those in `chunks`: uploaded blobs, each a JSON array of
   * events. All of them or none, unless `in_parts`. Events that are already present are skipped.
   */
  importEvents(
    events: readonly Readonly<Record<string, unknown>>[],
    more: { readonly chunks?: readonly string[]; readonly in_parts?: boolean } = {},
  ): OperationReplyPromise<'import_events'> {
    return this.command('/events/import', { events, ...more });
  }

  /**
   * Makes what imported logs say has converged authoritative: completes the edges that were never claimed here. Call it
   * again while the reply says `more`.
   */
  trustImports(request: BodyOf<'trust_imports'>): OperationReplyPromise<'trust_imports'> {
    return this.command('/events/import/trust', { ...request });
  }

  /**
   * Yields every event from `after` on, once and in order, reconnecting as
   * needed. Default: from the first event; `now`: from now on.
   */
  follow(
    filter: Omit<EventFilter, 'limit'> = {},
    options: FollowObserver & { signal?: AbortSignal } = {},
  ): AsyncGenerator<FollowedEvent> {
    const request = { method: 'GET', path: this.path('/events/stream'), query: { ...filter } } as const;
    return follow(this.http, request, options.signal ?? new AbortController().signal, options);
  }

  /**
   * Sends a session's command, signed if there is a key. If it is refused because the session has no key, or nothing was
   * signed yet, the session is opened with the key and the same request is sent again, once.
   */
  private async signed<Reply>(
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
    if (typeof sessionId !== 'string' || !(await this.canSign())) return false;
    const { public_key } = this;
    if (public_key === null) return false;
    const opened = await this.openSession({ session_id: sessionId, public_key });
    return !isProblem(opened) && opened.success;
  }

  private createBatcher<Id extends OperationId>(path: string, name: 'claims' | 'items') {
    return new CallBatcher<object, ReplyTo<Id>>(
      (body) => this.command(path, body),
      (bodyTexts) => this.batchCommand(`${path}/batch`, name, bodyTexts),
    );
  }
}

interface BatchClaimReply {
  readonly results: readonly (ClaimReply | ApiProblem)[];
}

const isSignatureRequired = (reply: unknown): boolean =>
  isProblem(reply) && reply.code === 'SIGNATURE_REQUIRED';
