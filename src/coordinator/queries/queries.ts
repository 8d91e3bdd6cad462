import { factOf } from '../../core/claims/facts.js';
import { live } from '../../core/claims/lease.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { subtaskIds } from '../../core/plan/index.js';
import type { Steps } from '../../core/steps.js';
import { readStrictJson } from '../../core/strict-json.js';
import { TENANT_PROJECT } from '../../core/subject.js';
import {
  type AgentView,
  agentViews,
  type Lineage,
  lineageOf,
  type ProjectState,
  type ProjectStatus,
  parkedResults,
  type Readiness,
  resultsOf,
  statusSteps,
  type TaskResult,
  type TaskState,
} from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { cursorAhead, cursorAt, positionOf } from '../cursor.js';
import type { Desk } from '../desk.js';
import type { Environment } from '../environment.js';
import { type Explanation, explain } from '../explain.js';
import { isKnown, notKnown } from '../facts.js';
import { inSlices } from '../in-slices.js';
import { readSubject } from '../operations/read.js';
import { isProblem, type Problem, problem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import type { Projects } from '../projects.js';
import { CLAIMS_SCOPE } from '../rooms.js';
import { tenantFault } from '../scope.js';
import type { History } from './history.js';
import { firstNames, Latest, limitOf, PAGE_CHARS_MAX, PAGE_MAX, type PageQuery, pageOf } from './page.js';
import type { ReadTurns } from './read-turns.js';
import { Tallies } from './tallies.js';
import { edgeAsks, stateOf } from './task.js';
import { vantage, vantageThen } from './vantage.js';

/** How many subjects a page of tasks looks at: where few are wanted, a page has few, and a cursor to go on from. */
const SUBJECTS_SCANNED_MAX = 20_000;
const SUBJECTS_PER_STEP = 20;
/** How many events the story of a subject is told from, beside its refused results. */
const STORY_MAX = 10_000;

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
    private readonly turns: ReadTurns,
    private readonly environment: Environment,
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

  listProjects(
    tenant_id: string,
    query: PageQuery = {},
  ): Reply<{ projects: ProjectEntry[]; next: string | null }> {
    return this.turns.take(tenant_id, async () => {
      const ids = (await this.projects.idsOf(tenant_id)).sort();
      const { items, next } = pageOf(ids, (id) => id, query);
      const entries = items.map((project_id) => this.entryOf({ tenant_id, project_id }));
      return { projects: await Promise.all(entries), next };
    });
  }

  getTaskState(key: ProjectKey, task_id: string): Reply<TaskState> {
    return this.at(key, task_id, async (desk, subject) => {
      const parked = parkedResults(await this.history.of(key, subject)).length;
      return { ...stateOf(desk, desk.head(subject), parked), ...edgeAsks(desk, subject) };
    });
  }

  /** Several at once; one that is not known is a problem of its own. */
  async batchGetStates(
    key: ProjectKey,
    task_ids: readonly string[],
  ): Reply<{ tasks: readonly (TaskState | Problem)[] }> {
    if (task_ids.length > PAGE_MAX) return tooMany('task_ids');
    return this.inTurn(key, async (project) => {
      const { parked } = await this.talliesOf(project);
      const steps = statesOf(project, task_ids, (subject) => parked.get(subject)?.size ?? 0);
      return { tasks: await inSlices(steps, this.environment) };
    });
  }

  listTasks(
    key: ProjectKey,
    filter: TaskFilter = {},
  ): Reply<{ tasks: TaskState[]; next: string | null; position: number }> {
    return this.inTurn(key, async (project) => {
      const { parked } = await this.talliesOf(project);
      const page = await inSlices(tasksIn(project, filter, parked), this.environment);
      return { ...page, position: project.state.position };
    });
  }

  getClaimHistory(key: ProjectKey, task_id: string, query: PageQuery = {}): Reply<Lineage> {
    const max = limitOf(query);
    return this.longAt(key, task_id, async (_desk, subject) => {
      const story = new Latest<EventEnvelope>(STORY_MAX);
      const refused = new Latest<EventEnvelope>(max);
      await this.history.each(key, { subject }, (event) => {
        if (factOf(event.event_type) === 'result_denied') refused.push(event, JSON.stringify(event).length);
        else if (TELLING.has(factOf(event.event_type) ?? '')) story.push(event);
        return true;
      });
      const events = [...story.items, ...refused.items].sort((a, b) => a.position - b.position);
      const { generations, reviews, ...told } = lineageOf(subject, events);
      const omitted =
        story.omitted +
        refused.omitted +
        Math.max(0, generations.length - max) +
        Math.max(0, reviews.length - max);
      return {
        ...told,
        generations: generations.slice(-max),
        reviews: reviews.slice(-max),
        ...(omitted === 0 ? {} : { omitted }),
      };
    });
  }

  listResults(
    key: ProjectKey,
    task_id: string,
    query: PageQuery = {},
  ): Reply<{ results: TaskResult[]; next: string | null }> {
    const after = positionOf(query.after ?? '');
    if (after === null) return Promise.resolve(badCursor());
    return this.longAt(key, task_id, async (_desk, subject) => {
      const results: TaskResult[] = [];
      let chars = 0;
      let next: string | null = null;
      await this.history.each(key, { subject, after }, (event) => {
        const [result] = resultsOf([event]);
        if (result === undefined) return true;
        results.push(result);
        chars += JSON.stringify(result).length;
        if (results.length < limitOf(query) && chars < PAGE_CHARS_MAX) return true;
        next = cursorAt(event.position);
        return false;
      });
      return { results, next };
    });
  }

  /** One result with its data, also a refused and parked one; a large one is read from its blob. */
  getResult(key: ProjectKey, task_id: string, result_id: string): Reply<TaskResult> {
    return this.longAt(key, task_id, async (_desk, subject) => {
      let found: TaskResult | undefined;
      await this.history.each(key, { subject }, (event) => {
        const [result] = resultsOf([event]);
        if (result?.id === result_id && (found === undefined || result.accepted)) found = result;
        return found?.accepted !== true;
      });
      const result = found as TaskResult | undefined;
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
    return this.inTurn(key, async (project) => {
      if (at !== undefined) {
        const state = await this.stateAt(project, at);
        if (isProblem(state)) return state;
        return inSlices(statusSteps(state, vantageThen(project, state)), this.environment);
      }
      const { parked } = await this.talliesOf(project);
      return inSlices(statusSteps({ ...project.state, parked }, vantage(project)), this.environment);
    });
  }

  agents(
    key: ProjectKey,
    at?: number,
    query: PageQuery = {},
  ): Reply<{ agents: AgentView[]; next: string | null; position: number; last_updated: string | null }> {
    return this.inTurn(key, async (project) => {
      const past = at === undefined ? null : await this.stateAt(project, at);
      if (isProblem(past)) return past;
      const { agents: tallied } = past ?? (await this.talliesOf(project));
      const state = past ?? project.state;
      const limit = limitOf(query);
      const named = await inSlices(
        firstNames(tallied.keys(), query.after ?? '', limit + 1),
        this.environment,
      );
      const agents = agentViews({ ...state, agents: tallied }, named.slice(0, limit));
      const next = named.length > limit ? (agents.at(-1)?.agent_id ?? null) : null;
      return { agents, next, position: state.position, last_updated: state.last_updated };
    });
  }

  private async stateAt({ key, state }: Project, at: number): Promise<ProjectState | Problem> {
    return at > state.position ? cursorAhead('at', at, state.position) : this.history.stateAt(key, at);
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

  private longAt<T>(
    key: ProjectKey,
    task_id: string,
    ask: (desk: Desk, subject: string) => Promise<T | Problem>,
  ): Reply<T> {
    return this.turns.take(key.tenant_id, () => this.at(key, task_id, ask));
  }

  /** A read that may take long waits for its turn. */
  private inTurn<T>(key: ProjectKey, ask: (project: Project) => Reply<T>): Reply<T> {
    return this.turns.take(key.tenant_id, () => this.projects.current(key, ask));
  }

  private async talliesOf(project: Project): Promise<Tallies> {
    const known = this.tallies.get(project) ?? new Tallies();
    this.tallies.set(project, known);
    await known.reader.catchUp(project);
    return known;
  }
}

const TELLING: ReadonlySet<string> = new Set([
  'granted',
  'lost',
  'released',
  'accepted',
  'adopted',
  'reviewed',
]);

function* statesOf(
  project: Project,
  task_ids: readonly string[],
  parkedOf: (subject: string) => number,
): Steps<(TaskState | Problem)[]> {
  const states: (TaskState | Problem)[] = [];
  for (const task_id of task_ids) {
    const desk = project.desk();
    const subject = readSubject(task_id);
    if (isProblem(subject)) states.push(subject);
    else if (isKnown(desk, subject) || project.state.heads.has(subject)) {
      const state = stateOf(desk, desk.head(subject), parkedOf(subject));
      states.push({ ...state, ...edgeAsks(desk, subject) });
    } else states.push(notKnown(desk, subject));
    yield;
  }
  return states;
}

/** A page of tasks in the order of their ids, which is that of tracks and sequences. */
function* tasksIn(
  project: Project,
  filter: TaskFilter,
  parked: Tallies['parked'],
): Steps<{ tasks: TaskState[]; next: string | null }> {
  const limit = limitOf({ limit: filter.limit ?? 100 });
  const tasks: TaskState[] = [];
  let desk = project.desk();
  let seen = 0;
  let last = '';
  for (const subject of subjectsAfter(project, filter.after ?? '')) {
    if (tasks.length === limit || seen === SUBJECTS_SCANNED_MAX) return { tasks, next: last };
    last = subject;
    seen += 1;
    const state = stateOf(desk, desk.head(subject), parked.get(subject)?.size ?? 0);
    if (isWanted(project, state, filter)) tasks.push(state);
    if (seen % SUBJECTS_PER_STEP !== 0) continue;
    yield;
    desk = project.desk();
  }
  return { tasks, next: null };
}

function* subjectsAfter({ state: { plan } }: Project, after: string): Generator<string> {
  for (const track of plan.tracks()) {
    // Beyond the hyphen that ends the name of the track nothing of it can follow.
    if (`${track}.` < after) continue;
    for (const task of [...plan.tasksOf(track)]) {
      if (`${task.id};` < after) continue;
      if (task.id > after) yield task.id;
      for (const id of [...subtaskIds(task)].sort()) if (id > after) yield id;
    }
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

/** Null: it is not JSON that every reader reads alike. The blob itself can be fetched. */
function dataOf(bytes: Uint8Array): unknown {
  const read = readStrictJson(Buffer.from(bytes).toString());
  return 'value' in read ? read.value : null;
}

const tooMany = (path: string): Problem =>
  problem('INVALID_REQUEST', `${path}: at most ${PAGE_MAX}`, [{ path, message: `at most ${PAGE_MAX}` }]);

const badCursor = (): Problem => {
  const message = 'expected a cursor that this server gave';
  return problem('INVALID_REQUEST', `after: ${message}`, [{ path: 'after', message }]);
};
