import type { Explanation } from '../coordinator/explain.js';
import type { OperatorResult } from '../coordinator/operations/operate.js';
import type { PlanResult } from '../coordinator/operations/plan.js';
import type { SessionRecord, SessionResult } from '../coordinator/operations/session.js';
import type { EventFilter, TaskFilter } from '../coordinator/queries/queries.js';
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
import { Http, newRequestId, type RetryOptions } from './http.js';
import type {
  ClaimReply,
  KeyRecord,
  NewKey,
  NoteReply,
  Problem,
  ReleaseReply,
  RenewalReply,
  Role,
  SubmissionReply,
} from './replies.js';

export interface GenesisOptions {
  /** GENESIS_URL, else the local server. */
  readonly url?: string;
  /** GENESIS_TOKEN. */
  readonly token?: string;
  /** GENESIS_TENANT, else `default`. */
  readonly tenant?: string;
  /** GENESIS_PROJECT. */
  readonly project?: string;
  /** For one try of a request. */
  readonly timeout_seconds?: number;
  readonly retry?: RetryOptions;
}

type Reply<T> = Promise<T | Problem>;
type Body<T> = Omit<T, 'signature'>;
/** Agent and session may be left to GENESIS_AGENT and GENESIS_SESSION. */
type Ours<T, Left extends string> = Body<Omit<T, Left>> & { [Name in Left]?: string };

export type ClaimAsked = Ours<wire.ClaimBody, 'agent_id' | 'session_id'>;
export type NextAsked = Ours<Partial<wire.NextBody>, 'agent_id' | 'session_id'>;
export type RenewAsked = Ours<wire.RenewBody, 'session_id'>;
export type ReleaseAsked = Omit<Ours<wire.ReleaseBody, 'session_id'>, 'reason'> & {
  reason?: 'VOLUNTARY' | 'ERROR';
};
export type SubmitAsked = Ours<wire.SubmitBody, 'session_id'>;
export type NoteAsked = Ours<wire.NoteBody, 'session_id'>;
export interface OperateAsked {
  expected_generation: number;
  reason: string;
  agent_id?: string;
  session_id?: string;
  lease_duration_seconds?: number;
  result_id?: string;
  request_id?: string;
}
export interface KeyAsked {
  role: Role;
  expires_at?: string;
  user_id?: string;
  name?: string;
  request_id?: string;
}

const DEFAULT_URL = 'http://127.0.0.1:4680';

/**
 * The client: one method for every call of the wire contract. A call answers with a value: what was granted, a
 * named refusal, or a Problem. What may have happened is repeated under the same request_id.
 */
export class Genesis {
  readonly url: string;
  readonly tenant: string;
  readonly project: string;
  private readonly http: Http;

  constructor(options: GenesisOptions = {}) {
    const { env } = process;
    const project = options.project ?? env.GENESIS_PROJECT;
    if (project === undefined) throw new TypeError('expected options.project or GENESIS_PROJECT');
    this.url = options.url ?? env.GENESIS_URL ?? DEFAULT_URL;
    this.tenant = options.tenant ?? env.GENESIS_TENANT ?? 'default';
    this.project = project;
    const { timeout_seconds, retry } = options;
    this.http = new Http({
      url: this.url,
      token: options.token ?? env.GENESIS_TOKEN,
      timeout_seconds,
      retry,
    });
  }

  // Work

  claimTask(claim: ClaimAsked): Reply<ClaimReply> {
    return this.command('/claims', withAgent(claim));
  }

  batchClaim(
    claims: readonly ClaimAsked[],
    options: { mode?: 'partial' | 'all_or_nothing'; request_id?: string } = {},
  ): Reply<{ results: readonly (ClaimReply | Problem)[] }> {
    return this.command('/claims/batch', { claims: claims.map(withAgent), ...options });
  }

  renewLease(renewal: RenewAsked): Reply<RenewalReply> {
    return this.command('/claims/renew', withSession(renewal));
  }

  releaseClaim(release: ReleaseAsked): Reply<ReleaseReply> {
    return this.command('/claims/release', withSession(release));
  }

  submitResult(submission: SubmitAsked): Reply<SubmissionReply> {
    return this.command('/results', withSession(submission));
  }

  /** The best ready work, claimed, with its briefing. */
  next(asked: NextAsked = {}, options: { signal?: AbortSignal } = {}): Reply<ClaimReply> {
    const { wait_seconds = 0 } = asked;
    return this.command('/next', withAgent(asked), { wait_seconds, signal: options.signal });
  }

  note({ task_id, ...note }: NoteAsked): Reply<NoteReply> {
    return this.command(`/tasks/${encodeURIComponent(task_id)}/notes`, withSession(note));
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
  ): Reply<{ agents: AgentView[]; position: number; last_updated: string | null }> {
    return this.read(this.path('/agents'), options);
  }

  projects(): Reply<{ projects: readonly string[] }> {
    return this.read(this.tenantPath('/projects'));
  }

  // People over work

  operate(task_id: string, verb: wire.OperatorVerb, asked: OperateAsked): Reply<OperatorResult> {
    return this.command(`/tasks/${encodeURIComponent(task_id)}/${verb}`, asked);
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

  sessions(): Reply<{ sessions: SessionRecord[] }> {
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
  putPlan(plan: string | PlanInput, options: { if_match?: number } = {}): Reply<PlanResult> {
    const headers: Record<string, string> =
      options.if_match === undefined ? {} : { 'if-match': `"${options.if_match}"` };
    const content = typeof plan === 'string' ? { content_type: 'application/yaml' } : {};
    return this.http.json({ method: 'PUT', path: this.path('/plan'), body: plan, headers, ...content });
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

  keys(): Reply<{ keys: readonly KeyRecord[] }> {
    return this.read(this.tenantPath('/keys'));
  }

  createKey(asked: KeyAsked): Reply<NewKey> {
    return this.http.json({ method: 'POST', path: this.tenantPath('/keys'), body: withRequestId(asked) });
  }

  revokeKey(key_id: string): Reply<KeyRecord> {
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

  private command<T>(
    path: string,
    body: object,
    options: { wait_seconds?: number; signal?: AbortSignal | undefined } = {},
  ): Reply<T> {
    return this.http.json({ method: 'POST', path: this.path(path), body: withRequestId(body), ...options });
  }

  private read<T>(path: string, query: Record<string, string | number | undefined> = {}): Reply<T> {
    return this.http.json({ method: 'GET', path, query });
  }

  private tenantPath(rest: string): string {
    return `/api/tenants/${encodeURIComponent(this.tenant)}${rest}`;
  }

  private path(rest: string): string {
    return this.tenantPath(`/projects/${encodeURIComponent(this.project)}${rest}`);
  }

  private taskPath(task_id: string, rest = ''): string {
    return this.path(`/tasks/${encodeURIComponent(task_id)}${rest}`);
  }

  private sessionPath(session_id: string): string {
    return this.tenantPath(`/sessions/${encodeURIComponent(session_id)}`);
  }
}

/** Made before the first try and kept over all of them: that is what makes a repetition the same request. */
const withRequestId = <T extends object>(body: T) => ({ request_id: newRequestId(), ...defined(body) });

const withSession = <T extends { session_id?: string }>(body: T) => ({
  session_id: process.env.GENESIS_SESSION,
  ...defined(body),
});

const withAgent = <T extends { agent_id?: string; session_id?: string }>(body: T) => ({
  agent_id: process.env.GENESIS_AGENT,
  ...withSession(body),
});

/** A field given as undefined is a field left out. */
function defined<T extends object>(body: T): T {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as T;
}
