import type { Explanation } from '../coordinator/explain.js';
import type { OperatorResult } from '../coordinator/operations/operate.js';
import type { PlanResult } from '../coordinator/operations/plan.js';
import type { SessionRecord, SessionResult } from '../coordinator/operations/session.js';
import type { EventFilter } from '../coordinator/queries/feed.js';
import type { TaskFilter } from '../coordinator/queries/queries.js';
import type * as wire from '../coordinator/wire.js';
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
import type {
  Body,
  ClaimAsked,
  KeyAsked,
  NextAsked,
  NoteAsked,
  OperateAsked,
  ProjectSummary,
  ReleaseAsked,
  RenewAsked,
  Reply,
  ResumeAsked,
  ReviewAsked,
  SubmitAsked,
  SuspendAsked,
} from './asked.js';
import { Batching } from './batching.js';
import { defined, Endpoint, withAgent, withRequestId, withSession } from './endpoint.js';
import { type Followed, follow } from './follow.js';
import { newRequestId } from './http.js';
import { MethodologyCalls } from './methodology.js';
import type { Renewal } from './renewer.js';
import type {
  ClaimReply,
  GateReply,
  NextReply,
  NoteReply,
  Problem,
  ReleaseReply,
  RenewalReply,
  SubmissionReply,
} from './replies.js';

/**
 * One method for every call of the wire contract. A call answers with a value: what was granted, a
 * named refusal, or a Problem. What may have happened is repeated under the same request_id.
 */
export class Calls extends Endpoint {
  readonly methodology = new MethodologyCalls(this.project, (request) =>
    this.http.json({ ...request, headers: { 'x-genesis-tenant': this.tenant } }),
  );
  private readonly claims = this.batching<ClaimReply>('/claims', '/claims/batch', 'claims');
  private readonly renewals = this.batching<RenewalReply>('/claims/renew', '/claims/renew/batch', 'items');
  private readonly releases = this.batching<ReleaseReply>(
    '/claims/release',
    '/claims/release/batch',
    'items',
  );
  private readonly submissions = this.batching<SubmissionReply>('/results', '/results/batch', 'items');

  // Work

  claimTask(claim: ClaimAsked): Reply<ClaimReply> {
    return this.claims.call(this.signed('claim_task', withAgent(claim)));
  }

  batchClaim(
    claims: readonly ClaimAsked[],
    options: { mode?: 'partial' | 'all_or_nothing'; request_id?: string } = {},
  ): Reply<{ results: readonly (ClaimReply | Problem)[] }> {
    const one = (claim: ClaimAsked) =>
      this.public_key === null ? defined(withAgent(claim)) : this.signed('claim_task', withAgent(claim));
    return this.command('/claims/batch', { claims: claims.map(one), ...options });
  }

  renewLease(renewal: RenewAsked): Reply<RenewalReply> {
    return this.renewals.call(this.signed('renew_lease', withSession(renewal)));
  }

  /** One try, in a request of its own: for whoever has a lease to watch and repeats it by itself. */
  renewAlone({ handle, lease_seconds, request_id, timeout_seconds }: Renewal): Reply<RenewalReply> {
    const { generation: expected_generation, ...holder } = handle;
    const body = { ...holder, expected_generation, lease_duration_seconds: lease_seconds, request_id };
    return this.command('/claims/renew', this.signed('renew_lease', body), { timeout_seconds, tries: 1 });
  }

  releaseClaim(release: ReleaseAsked): Reply<ReleaseReply> {
    return this.releases.call(this.signed('release_claim', withSession(release)));
  }

  submitResult(submission: SubmitAsked): Reply<SubmissionReply> {
    return this.submissions.call(this.signed('submit_result', withSession(submission)));
  }

  /** The best ready work, claimed, with its briefing. */
  next(asked: NextAsked = {}, options: { signal?: AbortSignal } = {}): Reply<NextReply> {
    const { wait_seconds = 0 } = asked;
    return this.command('/next', this.signed('next', withAgent(asked)), {
      wait_seconds,
      signal: options.signal,
    });
  }

  note(note: NoteAsked): Reply<NoteReply> {
    const path = `/tasks/${encodeURIComponent(note.task_id)}/notes`;
    return this.command(path, this.signed('note', withSession(note)));
  }

  /** Stops the lease while a human decides on what there is so far; only the holder may. */
  suspendClaim(asked: SuspendAsked): Reply<GateReply> {
    return this.command('/claims/suspend', this.signed('suspend_claim', withSession(asked)));
  }

  /** Goes on with a suspended claim, decided or not. */
  resumeClaim(asked: ResumeAsked): Reply<GateReply> {
    return this.command('/claims/resume', this.signed('resume_claim', withSession(asked)));
  }

  // What is and was

  task(task_id: string): Reply<TaskState> {
    return this.read(this.taskPath(task_id));
  }

  tasks(filter: TaskFilter = {}): Reply<{ tasks: TaskState[]; next: string | null; position: number }> {
    return this.read(this.path('/tasks'), { ...filter });
  }

  taskStates(task_ids: readonly string[]): Reply<{ tasks: readonly (TaskState | Problem)[] }> {
    return this.http.json({ method: 'POST', path: this.path('/tasks/batch_get'), body: { task_ids } });
  }

  history(task_id: string): Reply<Lineage> {
    return this.read(this.taskPath(task_id, '/history'));
  }

  results(task_id: string): Reply<{ results: TaskResult[] }> {
    return this.read(this.taskPath(task_id, '/results'));
  }

  result(task_id: string, result_id: string): Reply<TaskResult> {
    return this.read(this.taskPath(task_id, `/results/${encodeURIComponent(result_id)}`));
  }

  explain(task_id: string): Reply<Explanation> {
    return this.read(this.taskPath(task_id, '/explain'));
  }

  putBlob(sha256: string, bytes: Uint8Array): Reply<{ sha256: string; size_bytes: number }> {
    const content_type = 'application/octet-stream';
    return this.http.json({ method: 'PUT', path: this.path(`/blobs/${sha256}`), body: bytes, content_type });
  }

  getBlob(sha256: string): Reply<Uint8Array> {
    return this.http.bytes({ method: 'GET', path: this.path(`/blobs/${sha256}`) });
  }

  status(options: { at?: number } = {}): Reply<ProjectStatus> {
    return this.read(this.path('/status'), options);
  }

  agents(
    options: { at?: number } = {},
  ): Reply<{ agents: AgentView[]; next: string | null; position: number; last_updated: string | null }> {
    return this.read(this.path('/agents'), options);
  }

  projects(): Reply<{ projects: readonly ProjectSummary[]; next: string | null }> {
    return this.read(this.tenantPath('/projects'));
  }

  // People over work

  operate(task_id: string, verb: wire.OperatorVerb, asked: OperateAsked): Reply<OperatorResult> {
    return this.command(`/tasks/${encodeURIComponent(task_id)}/${verb}`, asked);
  }

  /** Decides on the candidate that a suspended claim, or an escalated result, waits with. */
  review(asked: ReviewAsked): Reply<GateReply> {
    return this.command('/reviews', asked);
  }

  // Sessions

  openSession(
    asked: Omit<wire.SessionBody, 'project_id' | 'signature'> & { project_id?: string },
  ): Reply<SessionResult> {
    const body = withRequestId({ project_id: this.project, ...asked });
    return this.http.json({ method: 'POST', path: this.tenantPath('/sessions'), body });
  }

  closeSession(session_id: string): Reply<SessionResult> {
    return this.http.json({ method: 'DELETE', path: this.sessionPath(session_id) });
  }

  sessions(): Reply<{ sessions: SessionRecord[]; next: string | null }> {
    return this.read(this.tenantPath('/sessions'));
  }

  session(session_id: string): Reply<SessionMemory> {
    return this.read(this.sessionPath(session_id));
  }

  sessionClaims(session_id: string): Reply<{ claims: TaskClaim[] }> {
    return this.read(`${this.sessionPath(session_id)}/claims`);
  }

  // Plan and settings

  plan(): Reply<{ version: number; plan: PlanInput }> {
    return this.read(this.path('/plan'));
  }

  /** YAML as text, or the plan as data. `if_match`: the version it replaces. */
  putPlan(
    plan: string | PlanInput,
    options: { if_match?: number; request_id?: string } = {},
  ): Reply<PlanResult> {
    const { if_match, request_id = newRequestId() } = options;
    const headers: Record<string, string> = if_match === undefined ? {} : { 'if-match': `"${if_match}"` };
    const content = typeof plan === 'string' ? { content_type: 'application/yaml' } : {};
    const request = { method: 'PUT', path: this.path('/plan'), query: { request_id }, body: plan } as const;
    return this.http.json({ ...request, headers, ...content });
  }

  addTasks(tasks: readonly TaskInput[], options: { request_id?: string } = {}): Reply<PlanResult> {
    return this.command('/tasks', { tasks, ...options });
  }

  policy(): Reply<Policy> {
    return this.read(this.path('/policy'));
  }

  putPolicy(change: Body<wire.PolicyBody>): Reply<Policy> {
    return this.http.json({ method: 'PUT', path: this.path('/policy'), body: withRequestId(change) });
  }

  limits(): Reply<Limits> {
    return this.read(this.tenantPath('/limits'));
  }

  putLimits(change: Body<wire.LimitsBody>): Reply<Limits> {
    return this.http.json({ method: 'PUT', path: this.tenantPath('/limits'), body: withRequestId(change) });
  }

  keys(): Reply<{ keys: readonly wire.Key[] }> {
    return this.read(this.tenantPath('/keys'));
  }

  createKey(asked: KeyAsked): Reply<wire.KeyCreated> {
    return this.http.json({ method: 'POST', path: this.tenantPath('/keys'), body: withRequestId(asked) });
  }

  revokeKey(key_id: string): Reply<wire.Key> {
    return this.http.json({ method: 'DELETE', path: this.tenantPath(`/keys/${encodeURIComponent(key_id)}`) });
  }

  // Events

  events(filter: EventFilter = {}): Reply<{ events: EventEnvelope[]; next: string }> {
    return this.read(this.path('/events'), { ...filter });
  }

  /** Appends an event of the methodology. */
  appendEvent(event: Readonly<Record<string, unknown>>): Reply<EventEnvelope> {
    return this.command('/events', event);
  }

  /** Brings in events of other tools, at most 1,000 at once; one that is there already is left out. */
  importEvents(
    events: readonly Readonly<Record<string, unknown>>[],
  ): Reply<{ written: number; already_there: number }> {
    return this.command('/events/import', { events });
  }

  /**
   * Every event from `after` on, once and in order, over as many connections as it takes. Left out: from the first;
   * `now`: from here on.
   */
  follow(
    filter: Omit<EventFilter, 'limit'> = {},
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<Followed> {
    const { after, ...query } = filter;
    const request = { method: 'GET' as const, path: this.path('/events/stream'), query: { ...query, after } };
    return follow(this.http, request, options.signal ?? new AbortController().signal);
  }

  private batching<T>(path: string, batch: string, name: 'claims' | 'items'): Batching<object, T> {
    return new Batching<object, T>({
      alone: (body) => this.command(path, body),
      together: (bodies) => this.command(batch, { [name]: bodies }),
    });
  }
}
