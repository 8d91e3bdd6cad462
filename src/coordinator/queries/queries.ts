import { live } from '../../core/claims/lease.js';
import { rulesFor } from '../../core/claims/policy.js';
import { type EventEnvelope, isoTime, msOf } from '../../core/events/envelope.js';
import { kindOf, POLICY_SUBJECT, TENANT_PROJECT } from '../../core/subject.js';
import {
  type AgentView,
  agentViews,
  emptyProject,
  emptySession,
  evolveProject,
  evolveSession,
  type Lineage,
  lineageOf,
  type ProjectState,
  type ProjectStatus,
  parkedResults,
  planProgress,
  projectStatus,
  type Readiness,
  resultsOf,
  type SessionMemory,
  sessionMemory,
  type TaskClaim,
  type TaskResult,
  type TaskState,
  type Vantage,
} from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { EventQuery, ProjectKey, Store } from '../../stores/store.js';
import { cursorAt, positionOf } from '../cursor.js';
import { type Desk, policyOf } from '../desk.js';
import { type Explanation, explain } from '../explain.js';
import { isKnown, notKnown } from '../facts.js';
import { readSubject } from '../operations/read.js';
import { type SessionRecord, sessionRecord } from '../operations/session.js';
import { isProblem, type Problem, problem } from '../problem.js';
import type { Project } from '../project.js';
import type { Projects } from '../projects.js';
import { CLAIMS_SCOPE } from '../rooms.js';
import { scopeFault, tenantFault } from '../scope.js';
import { Tallies } from './tallies.js';
import { checksOf, stateOf } from './task.js';

const PAGE = 1000;
const HISTORY_EVENTS_MAX = 100_000;
const LIST_MAX = 1000;

type Reply<T> = Promise<T | Problem>;

export interface ProjectEntry {
  project_id: string;
  position: number;
  last_updated: string | null;
}

export interface TaskFilter {
  phase?: 'OPEN' | 'COMPLETED';
  readiness?: Readiness;
  track?: string;
  after?: string;
  limit?: number;
}

export interface EventFilter {
  after?: string;
  limit?: number;
  type?: string;
  task_id?: string;
  feature_id?: string;
  edge?: string;
  agent_id?: string;
  session_id?: string;
  since?: string;
  until?: string;
}

export interface Standing {
  readonly key: ProjectKey;
  readonly active_claims: number;
  readonly pending_tasks: number;
  readonly completed_tasks: number;
}

/** What can be asked. Every answer about a project's present comes from heads the coordinator has followed to now. */
export class Queries {
  private readonly tallies = new WeakMap<Project, Tallies>();

  constructor(
    private readonly projects: Projects,
    private readonly store: Store,
    private readonly blobs: Blobs,
  ) {}

  async projectsOf(tenant_id: string): Promise<string[]> {
    if (tenantFault(tenant_id) !== null) return [];
    return (await this.store.projects(tenant_id)).filter((project_id) => project_id !== TENANT_PROJECT);
  }

  /** How the projects at work stand, from memory alone. */
  *standings(): Generator<Standing> {
    for (const project of this.projects.all()) {
      if (project.key.project_id === TENANT_PROJECT) continue;
      const { plan, completed } = project.state;
      const pending_tasks = Math.max(0, plan.subject_count - completed);
      yield {
        key: project.key,
        active_claims: liveClaims(project),
        pending_tasks,
        completed_tasks: completed,
      };
    }
  }

  async listProjects(tenant_id: string): Promise<{ projects: ProjectEntry[] }> {
    const ids = await this.projectsOf(tenant_id);
    return { projects: await Promise.all(ids.map((project_id) => this.entryOf({ tenant_id, project_id }))) };
  }

  /** Everything that ever happened to a subject, oldest first. */
  async eventsOf(key: ProjectKey, subject: string): Promise<EventEnvelope[]> {
    return this.readAll(key, { subject });
  }

  getTaskState(key: ProjectKey, task_id: string): Reply<TaskState> {
    return this.at(key, task_id, async (desk, subject) => {
      const parked = parkedResults(await this.eventsOf(key, subject)).length;
      return { ...stateOf(desk, desk.head(subject), parked), ...checksOf(desk, subject) };
    });
  }

  async batchGetStates(
    key: ProjectKey,
    task_ids: readonly string[],
  ): Reply<{ tasks: readonly (TaskState | Problem)[] }> {
    if (task_ids.length > LIST_MAX) return tooMany('task_ids');
    return { tasks: await Promise.all(task_ids.map((id) => this.getTaskState(key, id))) };
  }

  listTasks(
    key: ProjectKey,
    filter: TaskFilter = {},
  ): Reply<{ tasks: TaskState[]; next: string | null; position: number }> {
    return this.current(key, async (project) => {
      const tallies = await this.talliesOf(project);
      const desk = project.desk();
      const limit = Math.min(filter.limit ?? 100, LIST_MAX);
      const tasks: TaskState[] = [];
      for (const subject of [...project.state.plan.subjects()].sort()) {
        if (filter.after !== undefined && subject <= filter.after) continue;
        if (tasks.length === limit) {
          return { tasks, next: tasks.at(-1)?.task_id ?? null, position: project.state.position };
        }
        const state = stateOf(desk, desk.head(subject), tallies.parked.get(subject)?.size ?? 0);
        if (isWanted(project, state, filter)) tasks.push(state);
      }
      return { tasks, next: null, position: project.state.position };
    });
  }

  getClaimHistory(key: ProjectKey, task_id: string): Reply<Lineage> {
    return this.at(key, task_id, async (_desk, subject) =>
      lineageOf(subject, await this.eventsOf(key, subject)),
    );
  }

  listResults(key: ProjectKey, task_id: string): Reply<{ results: TaskResult[] }> {
    return this.at(key, task_id, async (_desk, subject) => ({
      results: resultsOf(await this.eventsOf(key, subject)),
    }));
  }

  /** One result with its data, also a refused and parked one; a large one is read from its blob. */
  getResult(key: ProjectKey, task_id: string, result_id: string): Reply<TaskResult> {
    return this.at(key, task_id, async (_desk, subject) => {
      const results = resultsOf(await this.eventsOf(key, subject));
      const found = results.filter((result) => result.id === result_id);
      const result = found.find(({ accepted }) => accepted) ?? found[0];
      if (result === undefined) return problem('NOT_FOUND', 'There is no result by that id.');
      if (result.blob_sha256 === null) return result;
      const bytes = await this.blobs.get(key.tenant_id, result.blob_sha256);
      return bytes === null ? result : { ...result, result_data: dataOf(bytes) };
    });
  }

  async getBlob(tenant_id: string, sha256: string): Reply<Uint8Array> {
    const isName = tenantFault(tenant_id) === null && /^[0-9a-f]{64}$/.test(sha256);
    const bytes = isName ? await this.blobs.get(tenant_id, sha256) : null;
    return bytes ?? problem('NOT_FOUND', 'There is no blob by that hash.');
  }

  explain(key: ProjectKey, task_id: string): Reply<Explanation> {
    return this.at(key, task_id, async (desk, subject) =>
      explain(desk, subject, await this.store.occupancy(key.tenant_id, CLAIMS_SCOPE)),
    );
  }

  async getActiveClaimsForSession(tenant_id: string, session_id: string): Reply<{ claims: TaskClaim[] }> {
    const claims: TaskClaim[] = [];
    for (const project_id of await this.projectsOf(tenant_id)) {
      const found = await this.current({ tenant_id, project_id }, async (project) => {
        const desk = project.desk();
        const held = [...(project.state.bySession.get(session_id) ?? [])];
        return held.map((subject) => stateOf(desk, desk.head(subject), 0).claim);
      });
      if (isProblem(found)) return found;
      for (const claim of found) if (claim !== null && claim.state !== 'EXPIRED') claims.push(claim);
    }
    return { claims };
  }

  async listSessions(tenant_id: string): Reply<{ sessions: SessionRecord[] }> {
    const sessions: SessionRecord[] = [];
    for (const project_id of await this.projectsOf(tenant_id)) {
      const found = await this.current({ tenant_id, project_id }, async (project) => {
        const desk = project.desk();
        const ids = [...project.state.records.keys()].flatMap((subject) => sessionIdOf(subject) ?? []);
        return ids.sort().flatMap((id) => sessionRecord(desk, id) ?? []);
      });
      if (isProblem(found)) return found;
      sessions.push(...found);
    }
    return { sessions };
  }

  /** The memory of a session, folded from its events in every project where it worked. */
  async getSession(tenant_id: string, session_id: string): Reply<SessionMemory> {
    const session = emptySession(session_id);
    let progress = {};
    for (const project_id of await this.projectsOf(tenant_id)) {
      const key = { tenant_id, project_id };
      const events = await this.readAll(key, { session_id });
      if (events.length === 0) continue;
      for (const event of events) evolveSession(session, event);
      const found = await this.current(
        key,
        async (project) => planProgress(project.state, vantage(project)).tracks,
      );
      if (isProblem(found)) return found;
      progress = found;
    }
    if (session.created_at === null) return problem('NOT_FOUND', 'There is no session by that id.');
    return sessionMemory(session, progress);
  }

  /** How the project stands, now or as it stood at a position of its log. */
  status(key: ProjectKey, at?: number): Reply<ProjectStatus> {
    return this.current(key, async (project) => {
      if (at !== undefined) {
        const state = await this.stateAt(key, at);
        return projectStatus(state, vantageThen(project, state));
      }
      const { parked } = await this.talliesOf(project);
      return projectStatus({ ...project.state, parked }, vantage(project));
    });
  }

  agents(
    key: ProjectKey,
    at?: number,
  ): Reply<{ agents: AgentView[]; position: number; last_updated: string | null }> {
    return this.current(key, async (project) => {
      const past = at === undefined ? null : await this.stateAt(key, at);
      const { agents: tallied } = past ?? (await this.talliesOf(project));
      const state = past ?? project.state;
      const agents = agentViews({ ...state, agents: tallied });
      return { agents, position: state.position, last_updated: state.last_updated };
    });
  }

  async events(key: ProjectKey, filter: EventFilter = {}): Reply<{ events: EventEnvelope[]; next: string }> {
    const fault = scopeFault(key);
    if (fault !== null) return fault;
    const after = positionOf(filter.after ?? '');
    if (after === null) {
      const message = 'expected a cursor that this server gave';
      return problem('INVALID_REQUEST', `after: ${message}`, [{ path: 'after', message }]);
    }
    const { after: _, limit = 100, type, ...rest } = filter;
    const query: EventQuery = {
      ...rest,
      ...(type === undefined ? {} : { types: [type] }),
      after,
      limit: Math.min(Math.max(limit, 1), PAGE),
    };
    const events = await this.store.events(key, query);
    return { events, next: cursorAt(events.at(-1)?.position ?? after) };
  }

  /**
   * The feed of a project from a cursor on, for as long as the caller listens: every event once, in order, across
   * restarts, since what it yields is always read from the log by position.
   */
  async *follow(
    key: ProjectKey,
    cursor: string,
    signal: AbortSignal,
  ): AsyncGenerator<{ event: EventEnvelope; cursor: string }> {
    if (scopeFault(key) !== null) return;
    try {
      const project = await this.projects.enter(key);
      let position = positionOf(cursor) ?? 0;
      while (!signal.aborted) {
        const events = await this.store.events(key, { after: position, limit: PAGE });
        for (const event of events) {
          if (signal.aborted) return;
          position = event.position;
          yield { event, cursor: cursorAt(position) };
        }
        if (events.length === 0 && !signal.aborted) await movedBeyond(project, position, signal);
      }
    } finally {
      this.projects.leave(key);
    }
  }

  private async entryOf(key: ProjectKey): Promise<ProjectEntry> {
    const position = (await this.store.project(key))?.position ?? 0;
    const last = position === 0 ? [] : await this.store.events(key, { after: position - 1, limit: 1 });
    return { project_id: key.project_id, position, last_updated: last[0]?.timestamp ?? null };
  }

  private async current<T>(key: ProjectKey, ask: (project: Project) => Promise<T | Problem>): Reply<T> {
    return this.projects.with(key, async (project) => {
      if (!this.store.capabilities.single_writer) await project.follow();
      return ask(project);
    });
  }

  private async at<T>(
    key: ProjectKey,
    task_id: string,
    ask: (desk: Desk, subject: string) => Promise<T | Problem>,
  ): Reply<T> {
    const subject = readSubject(task_id);
    if (isProblem(subject)) return subject;
    return this.current(key, async (project) => {
      const desk = project.desk();
      if (isKnown(desk, subject) || project.state.heads.has(subject)) return ask(desk, subject);
      return notKnown(desk, subject);
    });
  }

  private async readAll(key: ProjectKey, filter: Partial<EventQuery>): Promise<EventEnvelope[]> {
    const all: EventEnvelope[] = [];
    for (let after = 0; all.length < HISTORY_EVENTS_MAX; ) {
      const events = await this.store.events(key, { ...filter, after, limit: PAGE });
      all.push(...events);
      if (events.length < PAGE) break;
      after = events.at(-1)?.position ?? after;
    }
    return all;
  }

  private async stateAt(key: ProjectKey, until_position: number): Promise<ProjectState> {
    const state = emptyProject();
    for (;;) {
      const events = await this.store.events(key, { after: state.position, until_position, limit: PAGE });
      for (const event of events) evolveProject(state, event);
      if (events.length < PAGE) return state;
    }
  }

  private async talliesOf(project: Project): Promise<Tallies> {
    const known = this.tallies.get(project) ?? new Tallies();
    this.tallies.set(project, known);
    await known.reader.catchUp(project);
    return known;
  }
}

function isWanted(project: Project, state: TaskState, filter: TaskFilter): boolean {
  if (filter.phase !== undefined && state.phase !== filter.phase) return false;
  if (filter.readiness !== undefined && state.readiness !== filter.readiness) return false;
  return filter.track === undefined || project.state.plan.get(state.task_id)?.task.track === filter.track;
}

function liveClaims(project: Project): number {
  const desk = project.desk();
  let count = 0;
  for (const subject of project.state.live) {
    if (live(desk.glimpse(subject), desk.now_ms, desk.rulesOf(subject))) count += 1;
  }
  return count;
}

function vantage(project: Project): Vantage {
  const desk = project.desk();
  return { key: project.key, now_ms: desk.now_ms, rulesOf: (subject) => desk.rulesOf(subject) };
}

/** The past is seen at its own time and under its own policy; limits are the tenant's, and are those of today. */
function vantageThen({ key, limits, skew_margin_ms }: Project, state: ProjectState): Vantage {
  const policy = policyOf(state.records.get(POLICY_SUBJECT) ?? null);
  return {
    key,
    now_ms: msOf(state.last_updated ?? isoTime(0)),
    rulesOf: (subject) => rulesFor(kindOf(subject), policy, limits, skew_margin_ms),
  };
}

const SESSION_PREFIX = '~session/';
const sessionIdOf = (subject: string): string | null =>
  subject.startsWith(SESSION_PREFIX) ? subject.slice(SESSION_PREFIX.length) : null;

function dataOf(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes).toString();
  try {
    return JSON.parse(text);
  } catch {
    return null; // Not JSON: whoever wants it fetches the blob itself.
  }
}

const tooMany = (path: string): Problem =>
  problem('INVALID_REQUEST', `${path}: at most ${LIST_MAX}`, [{ path, message: `at most ${LIST_MAX}` }]);

function movedBeyond(project: Project, position: number, signal: AbortSignal): Promise<void> {
  if (project.state.position > position) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = project.moved.once(done);
    signal.addEventListener('abort', done, { once: true });
    function done() {
      stop();
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
