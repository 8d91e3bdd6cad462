import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import { isLive } from '../../core/claims/lease.js';
import type { AgentView, ProjectEntry, ProjectStatus } from '../../core/contract/overview.js';
import { PAGE_MAX, type PageQuery } from '../../core/contract/schema.js';
import type { Explanation, Lineage, TaskFilter, TaskResult, TaskState } from '../../core/contract/tasks.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { subtaskIds } from '../../core/plan/index.js';
import type { StepGenerator } from '../../core/steps.js';
import { readStrictJson } from '../../core/strict-json.js';
import { TENANT_PROJECT } from '../../core/subject.js';
import {
  agentViews,
  lineageOf,
  type ProjectState,
  parkedResults,
  resultsOf,
  statusSteps,
} from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { isKnownSubject, unknownSubjectProblem } from '../operations/facts.js';
import { parseSubject } from '../operations/parse-body.js';
import type { DecisionView } from '../queue/decision-view.js';
import { CLAIMS_SCOPE } from '../queue/permit-limits.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type AsyncReply, isProblem, type Problem, problem } from '../wire/problem.js';
import { tenantProblem } from '../wire/scope.js';
import { cursorAheadProblem, cursorAt, positionOfCursor } from './cursor.js';
import { explain } from './explain.js';
import { foldContext, foldContextAt } from './fold-context.js';
import type { EventHistory } from './history.js';
import { firstNames, LatestItems, limitOf, PAGE_CHARS_MAX, pageOf } from './page.js';
import type { ReadScheduler } from './read-scheduler.js';
import { ProjectTallies } from './tallies.js';
import { edgeDetailsOf, taskStateOf } from './task.js';

/** Subjects scanned per page of tasks. With a selective filter a page may be short, and its cursor continues the scan. */
const SUBJECTS_SCANNED_MAX = 20_000;
const SUBJECTS_PER_STEP = 20;
/** Number of events a lineage is built from, beside its refused results. */
const LINEAGE_EVENTS_MAX = 10_000;

export interface ProjectCounts {
  readonly key: ProjectKey;
  readonly active_claims: number;
  readonly pending_tasks: number;
  readonly completed_tasks: number;
}

/** Read queries. Answers about a project's present come from its refreshed heads. */
export class Queries {
  private readonly tallies = new WeakMap<Project, ProjectTallies>();

  constructor(
    private readonly projects: Projects,
    private readonly store: Store,
    private readonly history: EventHistory,
    private readonly blobs: Blobs,
    private readonly readScheduler: ReadScheduler,
    private readonly environment: Environment,
  ) {}

  projectsOf(tenantId: string): Promise<string[]> {
    return this.projects.projectIdsOf(tenantId);
  }

  /** Counts for the loaded projects, from memory alone. */
  *projectCounts(): Generator<ProjectCounts> {
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
  ): AsyncReply<{ projects: ProjectEntry[]; next: string | null }> {
    return this.readScheduler.run(tenant_id, async () => {
      const ids = (await this.projects.projectIdsOf(tenant_id)).sort();
      const { items, next } = pageOf(ids, (id) => id, query);
      const entries = items.map((project_id) => this.entryOf({ tenant_id, project_id }));
      return { projects: await Promise.all(entries), next };
    });
  }

  getTaskState(key: ProjectKey, taskId: string): AsyncReply<TaskState> {
    return this.withSubject(key, taskId, async (view, subject) => {
      const parked = parkedResults(await this.history.ofSubject(key, subject)).length;
      return { ...taskStateOf(view, view.head(subject), parked), ...edgeDetailsOf(view, subject) };
    });
  }

  /** Several states at once. An unknown task yields a problem in its place. */
  async batchGetStates(
    key: ProjectKey,
    taskIds: readonly string[],
  ): AsyncReply<{ tasks: readonly (TaskState | Problem)[] }> {
    if (taskIds.length > PAGE_MAX) return tooManyProblem('task_ids');
    return this.scheduleRead(key, async (project) => {
      const { parked } = await this.talliesOf(project);
      const steps = statesOf(project, taskIds, (subject) => parked.get(subject)?.size ?? 0);
      return { tasks: await runInSlices(steps, this.environment) };
    });
  }

  listTasks(
    key: ProjectKey,
    filter: TaskFilter = {},
  ): AsyncReply<{ tasks: TaskState[]; next: string | null; position: number }> {
    return this.scheduleRead(key, async (project) => {
      const { parked } = await this.talliesOf(project);
      const page = await runInSlices(tasksIn(project, filter, parked), this.environment);
      return { ...page, position: project.state.position };
    });
  }

  getClaimHistory(key: ProjectKey, taskId: string, query: PageQuery = {}): AsyncReply<Lineage> {
    const max = limitOf(query);
    return this.scheduleSubjectRead(key, taskId, async (_view, subject) => {
      const lineageEvents = new LatestItems<EventEnvelope>(LINEAGE_EVENTS_MAX);
      const refused = new LatestItems<EventEnvelope>(max);
      await this.history.forEach(key, { subject }, (event) => {
        if (claimEventKindOf(event.event_type) === 'result_denied')
          refused.push(event, JSON.stringify(event).length);
        else if (LINEAGE_EVENT_KINDS.has(claimEventKindOf(event.event_type) ?? '')) lineageEvents.push(event);
        return true;
      });
      const events = [...lineageEvents.items, ...refused.items].sort((a, b) => a.position - b.position);
      const { generations, reviews, ...lineage } = lineageOf(subject, events);
      const omitted =
        lineageEvents.omitted +
        refused.omitted +
        Math.max(0, generations.length - max) +
        Math.max(0, reviews.length - max);
      return {
        ...lineage,
        generations: generations.slice(-max),
        reviews: reviews.slice(-max),
        ...(omitted === 0 ? {} : { omitted }),
      };
    });
  }

  listResults(
    key: ProjectKey,
    taskId: string,
    query: PageQuery = {},
  ): AsyncReply<{ results: TaskResult[]; next: string | null }> {
    const after = positionOfCursor(query.after ?? '');
    if (after === null) return Promise.resolve(invalidCursorProblem());
    return this.scheduleSubjectRead(key, taskId, async (_view, subject) => {
      const results: TaskResult[] = [];
      let chars = 0;
      let next: string | null = null;
      await this.history.forEach(key, { subject, after }, (event) => {
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

  /** One result with its data, including refused and parked ones. Large data is read from its blob. */
  getResult(key: ProjectKey, taskId: string, resultId: string): AsyncReply<TaskResult> {
    return this.scheduleSubjectRead(key, taskId, async (_view, subject) => {
      let found: TaskResult | undefined;
      await this.history.forEach(key, { subject }, (event) => {
        const [result] = resultsOf([event]);
        if (result?.id === resultId && (found === undefined || result.accepted)) found = result;
        return found?.accepted !== true;
      });
      const result = found as TaskResult | undefined;
      if (result === undefined)
        return problem('NOT_FOUND', 'There is no result with that id. List the results: gen task history.');
      if (result.blob_sha256 === null) return result;
      const bytes = await this.blobs.get(key.tenant_id, result.blob_sha256);
      return bytes === null ? result : { ...result, result_data: parseResultData(bytes) };
    });
  }

  async getBlob(tenantId: string, sha256: string): AsyncReply<Uint8Array> {
    const isValidName = tenantProblem(tenantId) === null && /^[0-9a-f]{64}$/.test(sha256);
    const bytes = isValidName ? await this.blobs.get(tenantId, sha256) : null;
    return bytes ?? problem('NOT_FOUND', 'There is no blob with that hash.');
  }

  explain(key: ProjectKey, taskId: string): AsyncReply<Explanation> {
    return this.withSubject(key, taskId, async (view, subject) =>
      explain(view, subject, await this.store.countPermits(key.tenant_id, CLAIMS_SCOPE)),
    );
  }

  /** The project's status, now or at a position of its log. */
  status(key: ProjectKey, at?: number): AsyncReply<ProjectStatus> {
    return this.scheduleRead(key, async (project) => {
      if (at !== undefined) {
        const state = await this.stateAt(project, at);
        if (isProblem(state)) return state;
        return runInSlices(statusSteps(state, foldContextAt(project, state)), this.environment);
      }
      const { parked } = await this.talliesOf(project);
      return runInSlices(statusSteps({ ...project.state, parked }, foldContext(project)), this.environment);
    });
  }

  agents(
    key: ProjectKey,
    at?: number,
    query: PageQuery = {},
  ): AsyncReply<{ agents: AgentView[]; next: string | null; position: number; last_updated: string | null }> {
    return this.scheduleRead(key, async (project) => {
      const past = at === undefined ? null : await this.stateAt(project, at);
      if (isProblem(past)) return past;
      const { agents: tallied } = past ?? (await this.talliesOf(project));
      const state = past ?? project.state;
      const limit = limitOf(query);
      const agentIds = await runInSlices(
        firstNames(tallied.keys(), query.after ?? '', limit + 1),
        this.environment,
      );
      const agents = agentViews({ ...state, agents: tallied }, agentIds.slice(0, limit));
      const next = agentIds.length > limit ? (agents.at(-1)?.agent_id ?? null) : null;
      return { agents, next, position: state.position, last_updated: state.last_updated };
    });
  }

  private async stateAt({ key, state }: Project, at: number): Promise<ProjectState | Problem> {
    return at > state.position ? cursorAheadProblem('at', at, state.position) : this.history.stateAt(key, at);
  }

  private async entryOf(key: ProjectKey): Promise<ProjectEntry> {
    const position = (await this.store.project(key))?.position ?? 0;
    const last = position === 0 ? [] : await this.store.events(key, { after: position - 1, limit: 1 });
    return { project_id: key.project_id, position, last_updated: last[0]?.timestamp ?? null };
  }

  private async withSubject<T>(
    key: ProjectKey,
    taskId: string,
    query: (view: DecisionView, subject: string) => Promise<T | Problem>,
  ): AsyncReply<T> {
    const subject = parseSubject(taskId);
    if (isProblem(subject)) return subject;
    return this.projects.withRefreshedProject(key, async (project) => {
      const view = project.view();
      if (isKnownSubject(view, subject) || project.state.heads.has(subject)) return query(view, subject);
      return unknownSubjectProblem(view, subject);
    });
  }

  private scheduleSubjectRead<T>(
    key: ProjectKey,
    taskId: string,
    query: (view: DecisionView, subject: string) => Promise<T | Problem>,
  ): AsyncReply<T> {
    return this.readScheduler.run(key.tenant_id, () => this.withSubject(key, taskId, query));
  }

  /** Queues a potentially slow read with the read scheduler. */
  private scheduleRead<T>(key: ProjectKey, query: (project: Project) => AsyncReply<T>): AsyncReply<T> {
    return this.readScheduler.run(key.tenant_id, () => this.projects.withRefreshedProject(key, query));
  }

  private async talliesOf(project: Project): Promise<ProjectTallies> {
    const tallies = this.tallies.get(project) ?? new ProjectTallies();
    this.tallies.set(project, tallies);
    await tallies.reader.catchUp(project);
    return tallies;
  }
}

const LINEAGE_EVENT_KINDS: ReadonlySet<string> = new Set([
  'granted',
  'lost',
  'released',
  'accepted',
  'adopted',
  'reviewed',
]);

function* statesOf(
  project: Project,
  taskIds: readonly string[],
  parkedOf: (subject: string) => number,
): StepGenerator<(TaskState | Problem)[]> {
  const states: (TaskState | Problem)[] = [];
  for (const taskId of taskIds) {
    const view = project.view();
    const subject = parseSubject(taskId);
    if (isProblem(subject)) states.push(subject);
    else if (isKnownSubject(view, subject) || project.state.heads.has(subject)) {
      const state = taskStateOf(view, view.head(subject), parkedOf(subject));
      states.push({ ...state, ...edgeDetailsOf(view, subject) });
    } else states.push(unknownSubjectProblem(view, subject));
    yield;
  }
  return states;
}

/** A page of tasks by id, which orders them by track and sequence. */
function* tasksIn(
  project: Project,
  filter: TaskFilter,
  parked: ProjectTallies['parked'],
): StepGenerator<{ tasks: TaskState[]; next: string | null }> {
  const limit = limitOf({ limit: filter.limit ?? 100 });
  const tasks: TaskState[] = [];
  let view = project.view();
  let seen = 0;
  let last = '';
  for (const subject of subjectsAfter(project, filter.after ?? '')) {
    if (tasks.length === limit || seen === SUBJECTS_SCANNED_MAX) return { tasks, next: last };
    last = subject;
    seen += 1;
    const state = taskStateOf(view, view.head(subject), parked.get(subject)?.size ?? 0);
    if (matchesFilter(project, state, filter)) tasks.push(state);
    if (seen % SUBJECTS_PER_STEP !== 0) continue;
    yield;
    view = project.view();
  }
  return { tasks, next: null };
}

function* subjectsAfter({ state: { plan } }: Project, after: string): Generator<string> {
  for (const track of plan.tracks()) {
    // No id of this track sorts after `<track>.`, because the hyphen that ends a track's name sorts before the dot.
    if (`${track}.` < after) continue;
    for (const task of [...plan.tasksOf(track)]) {
      if (`${task.id};` < after) continue;
      if (task.id > after) yield task.id;
      for (const id of [...subtaskIds(task)].sort()) if (id > after) yield id;
    }
  }
}

function matchesFilter(project: Project, state: TaskState, filter: TaskFilter): boolean {
  if (filter.phase !== undefined && state.phase !== filter.phase) return false;
  if (filter.readiness !== undefined && state.readiness !== filter.readiness) return false;
  return filter.track === undefined || project.state.plan.get(state.task_id)?.task.track === filter.track;
}

function liveClaims(project: Project): number {
  const view = project.view();
  let count = 0;
  for (const subject of project.state.live) {
    if (isLive(view.peekHead(subject), view.now_ms, view.rulesOf(subject))) count += 1;
  }
  return count;
}

/** Null if the data is too large to parse between other work, or not strict JSON. The blob can be fetched as it is. */
function parseResultData(bytes: Uint8Array): unknown {
  if (bytes.length > PAGE_CHARS_MAX) return null;
  const read = readStrictJson(Buffer.from(bytes).toString());
  return 'value' in read ? read.value : null;
}

const tooManyProblem = (path: string): Problem =>
  problem('INVALID_REQUEST', `${path}: expected at most ${PAGE_MAX}`, [
    { path, message: `expected at most ${PAGE_MAX}` },
  ]);

const invalidCursorProblem = (): Problem => {
  const message = 'expected a cursor from this server';
  return problem('INVALID_REQUEST', `after: ${message}`, [{ path: 'after', message }]);
};
