import type { OperatorResult } from '../coordinator/operations/operate.js';
import type { PlanResult } from '../coordinator/operations/plan.js';
import type { SessionRecord, SessionResult } from '../coordinator/operations/session.js';
import type { Explanation } from '../coordinator/queries/explain.js';
import type { EventFilter } from '../coordinator/queries/feed.js';
import type { TaskFilter } from '../coordinator/queries/queries.js';
import type * as wire from '../coordinator/wire/index.js';
import type { Limits, Policy } from '../core/claims/policy.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import type { PlanInput, TaskInput } from '../core/plan/index.js';
import type {
  AgentView,
  Lineage,
  ProjectStatus,
  SessionMemory,
  TaskClaim,
  TaskResult,
  TaskState,
} from '../core/views/index.js';
import { CallBatcher } from './call-batcher.js';
import { omitUndefined, ProjectEndpoint, withEnvAgent, withEnvSession, withRequestId } from './endpoint.js';
import { type FollowedEvent, follow } from './follow.js';
import { newRequestId } from './http.js';
import { MethodologyClient } from './methodology.js';
import type { RenewalAttempt } from './renewer.js';
import type {
  ApiProblem,
  ClaimReply,
  GateReply,
  NextReply,
  NoteReply,
  ReleaseReply,
  RenewalReply,
  SubmissionReply,
} from './replies.js';
import type {
  AddNoteRequest,
  CallReply,
  ClaimTaskRequest,
  CreateKeyRequest,
  NextTaskRequest,
  OperateTaskRequest,
  ProjectSummary,
  RecordReviewRequest,
  ReleaseClaimRequest,
  RenewLeaseRequest,
  ResumeClaimRequest,
  SubmitResultRequest,
  SuspendClaimRequest,
  UnsignedBody,
} from './requests.js';

/**
 * One method per call of the wire contract. A call resolves with a grant, a named refusal or a Problem. A request
 * that may have taken effect is repeated under the same request_id.
 */
export class ApiClient extends ProjectEndpoint {
  readonly methodology = new MethodologyClient(this.project, (request) =>
    this.http.json({ ...request, headers: { 'x-genesis-tenant': this.tenant } }),
  );
  private readonly claimBatcher = this.createBatcher<ClaimReply>('/claims', '/claims/batch', 'claims');
  private readonly renewalBatcher = this.createBatcher<RenewalReply>(
    '/claims/renew',
    '/claims/renew/batch',
    'items',
  );
  private readonly releaseBatcher = this.createBatcher<ReleaseReply>(
    '/claims/release',
    '/claims/release/batch',
    'items',
  );
  private readonly submissionBatcher = this.createBatcher<SubmissionReply>(
    '/results',
    '/results/batch',
    'items',
  );

  // Work

  claimTask(claim: ClaimTaskRequest): CallReply<ClaimReply> {
    return this.claimBatcher.call(this.withSignature('claim_task', withEnvAgent(claim)));
  }

  batchClaim(
    claims: readonly ClaimTaskRequest[],
    options: { mode?: 'partial' | 'all_or_nothing'; request_id?: string } = {},
  ): CallReply<{ results: readonly (ClaimReply | ApiProblem)[] }> {
    const one = (claim: ClaimTaskRequest) =>
      this.public_key === null
        ? omitUndefined(withEnvAgent(claim))
        : this.withSignature('claim_task', withEnvAgent(claim));
    return this.command('/claims/batch', { claims: claims.map(one), ...options });
  }

  renewLease(renewal: RenewLeaseRequest): CallReply<RenewalReply> {
    return this.renewalBatcher.call(this.withSignature('renew_lease', withEnvSession(renewal)));
  }

  /** A single attempt in its own request, for a caller that watches a lease and retries by itself. */
  renewOnce({ handle, lease_seconds, request_id, timeout_seconds }: RenewalAttempt): CallReply<RenewalReply> {
    const { generation: expected_generation, ...holder } = handle;
    const body = { ...holder, expected_generation, lease_duration_seconds: lease_seconds, request_id };
    return this.command('/claims/renew', this.withSignature('renew_lease', body), {
      timeout_seconds,
      tries: 1,
    });
  }

  releaseClaim(release: ReleaseClaimRequest): CallReply<ReleaseReply> {
    return this.releaseBatcher.call(this.withSignature('release_claim', withEnvSession(release)));
  }

  submitResult(submission: SubmitResultRequest): CallReply<SubmissionReply> {
    return this.submissionBatcher.call(this.withSignature('submit_result', withEnvSession(submission)));
  }

  /** Claims the best ready work and returns it with its briefing. */
  next(request: NextTaskRequest = {}, options: { signal?: AbortSignal } = {}): CallReply<NextReply> {
    const { wait_seconds = 0 } = request;
    return this.command('/next', this.withSignature('next', withEnvAgent(request)), {
      wait_seconds,
      signal: options.signal,
    });
  }

  note(note: AddNoteRequest): CallReply<NoteReply> {
    const path = `/tasks/${encodeURIComponent(note.task_id)}/notes`;
    return this.command(path, this.withSignature('note', withEnvSession(note)));
  }

  /** Suspends the lease while a human reviews the work so far. Only the holder may call it. */
  suspendClaim(request: SuspendClaimRequest): CallReply<GateReply> {
    return this.command('/claims/suspend', this.withSignature('suspend_claim', withEnvSession(request)));
  }

  /** Resumes a suspended claim, whether it has been decided on or not. */
  resumeClaim(request: ResumeClaimRequest): CallReply<GateReply> {
    return this.command('/claims/resume', this.withSignature('resume_claim', withEnvSession(request)));
  }

  // Tasks, results and history

  task(taskId: string): CallReply<TaskState> {
    return this.read(this.taskPath(taskId));
  }

  tasks(filter: TaskFilter = {}): CallReply<{ tasks: TaskState[]; next: string | null; position: number }> {
    return this.read(this.path('/tasks'), { ...filter });
  }

  taskStates(task_ids: readonly string[]): CallReply<{ tasks: readonly (TaskState | ApiProblem)[] }> {
    return this.http.json({ method: 'POST', path: this.path('/tasks/batch_get'), body: { task_ids } });
  }

  history(taskId: string): CallReply<Lineage> {
    return this.read(this.taskPath(taskId, '/history'));
  }

  results(taskId: string): CallReply<{ results: TaskResult[] }> {
    return this.read(this.taskPath(taskId, '/results'));
  }

  result(taskId: string, resultId: string): CallReply<TaskResult> {
    return this.read(this.taskPath(taskId, `/results/${encodeURIComponent(resultId)}`));
  }

  explain(taskId: string): CallReply<Explanation> {
    return this.read(this.taskPath(taskId, '/explain'));
  }

  putBlob(sha256: string, bytes: Uint8Array): CallReply<{ sha256: string; size_bytes: number }> {
    const content_type = 'application/octet-stream';
    return this.http.json({ method: 'PUT', path: this.path(`/blobs/${sha256}`), body: bytes, content_type });
  }

  getBlob(sha256: string): CallReply<Uint8Array> {
    return this.http.bytes({ method: 'GET', path: this.path(`/blobs/${sha256}`) });
  }

  status(options: { at?: number } = {}): CallReply<ProjectStatus> {
    return this.read(this.path('/status'), options);
  }

  agents(
    options: { at?: number } = {},
  ): CallReply<{ agents: AgentView[]; next: string | null; position: number; last_updated: string | null }> {
    return this.read(this.path('/agents'), options);
  }

  projects(): CallReply<{ projects: readonly ProjectSummary[]; next: string | null }> {
    return this.read(this.tenantPath('/projects'));
  }

  // Operators and reviewers

  operate(taskId: string, verb: wire.OperatorVerb, request: OperateTaskRequest): CallReply<OperatorResult> {
    return this.command(`/tasks/${encodeURIComponent(taskId)}/${verb}`, request);
  }

  /** Decides on the candidate of a suspended claim or an escalated result. */
  review(request: RecordReviewRequest): CallReply<GateReply> {
    return this.command('/reviews', request);
  }

  // Sessions

  openSession(
    request: Omit<wire.SessionBody, 'project_id' | 'signature'> & { project_id?: string },
  ): CallReply<SessionResult> {
    const body = withRequestId({ project_id: this.project, ...request });
    return this.http.json({ method: 'POST', path: this.tenantPath('/sessions'), body });
  }

  closeSession(sessionId: string): CallReply<SessionResult> {
    return this.http.json({ method: 'DELETE', path: this.sessionPath(sessionId) });
  }

  sessions(): CallReply<{ sessions: SessionRecord[]; next: string | null }> {
    return this.read(this.tenantPath('/sessions'));
  }

  session(sessionId: string): CallReply<SessionMemory> {
    return this.read(this.sessionPath(sessionId));
  }

  sessionClaims(sessionId: string): CallReply<{ claimBatcher: TaskClaim[] }> {
    return this.read(`${this.sessionPath(sessionId)}/claims`);
  }

  // Plan and settings

  plan(): CallReply<{ version: number; plan: PlanInput }> {
    return this.read(this.path('/plan'));
  }

  /** The plan as YAML text or as data. `if_match` is the version it replaces. */
  putPlan(
    plan: string | PlanInput,
    options: { if_match?: number; request_id?: string } = {},
  ): CallReply<PlanResult> {
    const { if_match, request_id = newRequestId() } = options;
    const headers: Record<string, string> = if_match === undefined ? {} : { 'if-match': `"${if_match}"` };
    const content = typeof plan === 'string' ? { content_type: 'application/yaml' } : {};
    const request = { method: 'PUT', path: this.path('/plan'), query: { request_id }, body: plan } as const;
    return this.http.json({ ...request, headers, ...content });
  }

  addTasks(tasks: readonly TaskInput[], options: { request_id?: string } = {}): CallReply<PlanResult> {
    return this.command('/tasks', { tasks, ...options });
  }

  policy(): CallReply<Policy> {
    return this.read(this.path('/policy'));
  }

  putPolicy(change: UnsignedBody<wire.PolicyBody>): CallReply<Policy> {
    return this.http.json({ method: 'PUT', path: this.path('/policy'), body: withRequestId(change) });
  }

  limits(): CallReply<Limits> {
    return this.read(this.tenantPath('/limits'));
  }

  putLimits(change: UnsignedBody<wire.LimitsBody>): CallReply<Limits> {
    return this.http.json({ method: 'PUT', path: this.tenantPath('/limits'), body: withRequestId(change) });
  }

  keys(): CallReply<{ keys: readonly wire.ApiKey[] }> {
    return this.read(this.tenantPath('/keys'));
  }

  createKey(request: CreateKeyRequest): CallReply<wire.CreatedApiKey> {
    return this.http.json({ method: 'POST', path: this.tenantPath('/keys'), body: withRequestId(request) });
  }

  revokeKey(keyId: string): CallReply<wire.ApiKey> {
    return this.http.json({ method: 'DELETE', path: this.tenantPath(`/keys/${encodeURIComponent(keyId)}`) });
  }

  // Events

  events(filter: EventFilter = {}): CallReply<{ events: EventEnvelope[]; next: string }> {
    return this.read(this.path('/events'), { ...filter });
  }

  /** Appends a methodology event. */
  appendEvent(event: Readonly<Record<string, unknown>>): CallReply<EventEnvelope> {
    return this.command('/events', event);
  }

  /** Imports events of other tools, at most 1,000 at once. Events that are already present are skipped. */
  importEvents(
    events: readonly Readonly<Record<string, unknown>>[],
  ): CallReply<{ written: number; already_there: number }> {
    return this.command('/events/import', { events });
  }

  /**
   * Yields every event from `after` on, once and in order, reconnecting as
   * needed. Default: from the first event; `now`: from now on.
   */
  follow(
    filter: Omit<EventFilter, 'limit'> = {},
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<FollowedEvent> {
    const { after, ...query } = filter;
    const request = { method: 'GET' as const, path: this.path('/events/stream'), query: { ...query, after } };
    return follow(this.http, request, options.signal ?? new AbortController().signal);
  }

  private createBatcher<T>(
    path: string,
    batchPath: string,
    name: 'claims' | 'items',
  ): CallBatcher<object, T> {
    return new CallBatcher<object, T>({
      sendOne: (body) => this.command(path, body),
      sendBatch: (bodies) => this.command(batchPath, { [name]: bodies }),
    });
  }
}
