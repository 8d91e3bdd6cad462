import { live } from '../../core/claims/lease.js';
import { TENANT_PROJECT } from '../../core/subject.js';
import {
  type AgentView,
  agentViews,
  type Lineage,
  lineageOf,
  type ProjectStatus,
  parkedResults,
  projectStatus,
  type Readiness,
  resultsOf,
  type TaskResult,
  type TaskState,
} from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import type { Desk } from '../desk.js';
import { type Explanation, explain } from '../explain.js';
import { isKnown, notKnown } from '../facts.js';
import { readSubject } from '../operations/read.js';
import { isProblem, type Problem, problem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import type { Projects } from '../projects.js';
import { CLAIMS_SCOPE } from '../rooms.js';
import { tenantFault } from '../scope.js';
import type { History } from './history.js';
import { Tallies } from './tallies.js';
import { edgeAsks, stateOf } from './task.js';
import { vantage, vantageThen } from './vantage.js';

const LIST_MAX = 1000;

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
    private readonly history: History,
    private readonly blobs: Blobs,
  ) {}

  projectsOf(tenant_id: string): Promise<string[]> {
    return this.projects.idsOf(tenant_id);
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
    const ids = await this.projects.idsOf(tenant_id);
    return { projects: await Promise.all(ids.map((project_id) => this.entryOf({ tenant_id, project_id }))) };
  }

  getTaskState(key: ProjectKey, task_id: string): Reply<TaskState> {
    return this.at(key, task_id, async (desk, subject) => {
      const parked = parkedResults(await this.history.of(key, subject)).length;
      return { ...stateOf(desk, desk.head(subject), parked), ...edgeAsks(desk, subject) };
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
    return this.projects.current(key, async (project) => {
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
      lineageOf(subject, await this.history.of(key, subject)),
    );
  }

  listResults(key: ProjectKey, task_id: string): Reply<{ results: TaskResult[] }> {
    return this.at(key, task_id, async (_desk, subject) => ({
      results: resultsOf(await this.history.of(key, subject)),
    }));
  }

  /** One result with its data, also a refused and parked one; a large one is read from its blob. */
  getResult(key: ProjectKey, task_id: string, result_id: string): Reply<TaskResult> {
    return this.at(key, task_id, async (_desk, subject) => {
      const results = resultsOf(await this.history.of(key, subject));
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

  /** How the project stands, now or as it stood at a position of its log. */
  status(key: ProjectKey, at?: number): Reply<ProjectStatus> {
    return this.projects.current(key, async (project) => {
      if (at !== undefined) {
        const state = await this.history.stateAt(key, at);
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
    return this.projects.current(key, async (project) => {
      const past = at === undefined ? null : await this.history.stateAt(key, at);
      const { agents: tallied } = past ?? (await this.talliesOf(project));
      const state = past ?? project.state;
      const agents = agentViews({ ...state, agents: tallied });
      return { agents, position: state.position, last_updated: state.last_updated };
    });
  }

  private async entryOf(key: ProjectKey): Promise<ProjectEntry> {
    const position = (await this.store.project(key))?.position ?? 0;
    const last = position === 0 ? [] : await this.store.events(key, { after: position - 1, limit: 1 });
    return { project_id: key.project_id, position, last_updated: last[0]?.timestamp ?? null };
  }

  private async at<T>(
    key: ProjectKey,
    task_id: string,
    ask: (desk: Desk, subject: string) => Promise<T | Problem>,
  ): Reply<T> {
    const subject = readSubject(task_id);
    if (isProblem(subject)) return subject;
    return this.projects.current(key, async (project) => {
      const desk = project.desk();
      if (isKnown(desk, subject) || project.state.heads.has(subject)) return ask(desk, subject);
      return notKnown(desk, subject);
    });
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
