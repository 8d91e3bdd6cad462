import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { ProjectEntry, ProjectStatus } from '../../core/contract/overview.js';
import { PAGE_MAX, type PageQuery } from '../../core/contract/schema.js';
import type { Explanation, Lineage, TaskFilter, TaskResult, TaskState } from '../../core/contract/tasks.js';
import { type EventEnvelope, isoTime, msOf } from '../../core/events/envelope.js';
import { readStrictJson } from '../../core/strict-json.js';
import { LOSS_SUBJECT, POLICY_SUBJECT, TENANT_PROJECT } from '../../core/subject.js';
import {
  type AgentStats,
  agentViews,
  type FoldContext,
  lineageOf,
  type ParkedIds,
  type ProjectState,
  parkedResults,
  RefusalCounts,
  resultsOf,
  statusSteps,
  updateAgentStats,
  updateParked,
} from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { parseSubject } from '../operations/parse-body.js';
import type { DecisionView } from '../queue/decision-view.js';
import { EventProjection } from '../queue/event-projection.js';
import { CLAIMS_SCOPE } from '../queue/permit-limits.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import { ProjectRules } from '../queue/rules-cache.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type AsyncReply, fieldProblem, isProblem, type Problem, problem } from '../wire/problem.js';
import { tenantProblem } from '../wire/scope.js';
import { cursorAheadProblem, cursorAt, INVALID_CURSOR, positionOfCursor } from './cursor.js';
import { explain } from './explain.js';
import type { EventHistory } from './history.js';
import { firstNames, LatestItems, limitOf, PAGE_CHARS_MAX, pageOf } from './page.js';
import type { ReadScheduler } from './read-scheduler.js';
import { detailedStateOf, statesOf, subjectProblem, tasksIn } from './tasks.js';

/** Number of events a lineage is built from, in addition to its refused results. */
const LINEAGE_EVENTS_MAX = 10_000;

export interface ProjectCounts {
  readonly key: ProjectKey;
  readonly active_claims: number;
  readonly pending_tasks: number;
  readonly completed_tasks: number;
}

type SubjectQuery<T> = (view: DecisionView, subject: string) => AsyncReply<T>;

/** Read queries. Answers about a project's present come from its refreshed heads. */
export class Queries {
  private readonly tallies = new EventProjection(emptyTallies, evolveTallies);

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
      const { plan, heads } = project.state;
      const completed = heads.completedTasks;
      const pending_tasks = Math.max(0, plan.subject_count - completed);
      const active_claims = liveClaims(project);
      yield { key: project.key, active_claims, pending_tasks, completed_tasks: completed };
    }
  }

  listProjects(tenant_id: string, query: PageQuery = {}) {
    return this.readScheduler.run(tenant_id, async () => {
      const ids = (await this.projects.projectIdsOf(tenant_id)).sort();
      const { items, next } = pageOf(ids, (id) => id, query);
      const entries = items.map((project_id) => this.entryOf({ tenant_id, project_id }));
      return { projects: await Promise.all(entries), next };
    });
  }

  getTaskState(projectKey: ProjectKey, taskId: string): AsyncReply<TaskState> {
    return this.withSubject(projectKey, taskId, async (view, subject) => {
      const parked = parkedResults(await this.history.ofSubject(projectKey, subject)).length;
      return detailedStateOf(view, subject, parked);
    });
  }

  /** Several states at once. An unknown task yields a problem in its place. */
  async batchGetStates(projectKey: ProjectKey, taskIds: readonly string[]) {
    if (taskIds.length > PAGE_MAX) return fieldProblem('task_ids', `expected at most ${PAGE_MAX}`);
    return this.scheduleRead(projectKey, async (project) => {
      const { parked } = await this.tallies.stateOf(project);
      return { tasks: await runInSlices(statesOf(project, taskIds, parked), this.environment) };
    });
  }

  listTasks(projectKey: ProjectKey, filter: TaskFilter = {}) {
    return this.scheduleRead(projectKey, async (project) => {
      const { parked } = await this.tallies.stateOf(project);
      const page = await runInSlices(tasksIn(project, filter, parked), this.environment);
      return { ...page, position: project.state.position };
    });
  }

  getClaimHistory(projectKey: ProjectKey, taskId: string, query: PageQuery = {}): AsyncReply<Lineage> {
    const max = limitOf(query);
    return this.scheduleSubjectRead(projectKey, taskId, async (view, subject) => {
      const refusals = new RefusalCounts();
      const lineageEvents = new LatestItems<EventEnvelope>(LINEAGE_EVENTS_MAX);
      const refused = new LatestItems<EventEnvelope>(max);
      await this.history.forEach(projectKey, { subject }, (event) => {
        refusals.add(event);
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
        refused_count: refusedCount(view, subject, refusals),
        generations: generations.slice(-max),
        reviews: reviews.slice(-max),
        ...(omitted === 0 ? {} : { omitted }),
      };
    });
  }

  listResults(projectKey: ProjectKey, taskId: string, query: PageQuery = {}) {
    const after = positionOfCursor(query.after ?? '');
    if (after === null) return Promise.resolve(INVALID_CURSOR);
    return this.scheduleSubjectRead(projectKey, taskId, async (_view, subject) => {
      const results: TaskResult[] = [];
      let chars = 0;
      let next: string | null = null;
      await this.history.forEach(projectKey, { subject, after }, (event) => {
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
  getResult(projectKey: ProjectKey, taskId: string, resultId: string): AsyncReply<TaskResult> {
    return this.scheduleSubjectRead(projectKey, taskId, async (_view, subject) => {
      let found: TaskResult | undefined;
      await this.history.forEach(projectKey, { subject }, (event) => {
        const [result] = resultsOf([event]);
        if (result?.id === resultId && (found === undefined || result.accepted)) found = result;
        return found?.accepted !== true;
      });
      const result = found as TaskResult | undefined;
      if (result === undefined)
        return problem('NOT_FOUND', 'There is no result with that id. List the results: gen task history.');
      if (result.blob_sha256 === null) return result;
      // Too large to parse between other work: the blob can be fetched as it is.
      const size = (await this.blobs.size(projectKey.tenant_id, result.blob_sha256)) ?? 0;
      if (size > PAGE_CHARS_MAX) return { ...result, result_data: null };
      const bytes = await this.blobs.get(projectKey.tenant_id, result.blob_sha256);
      return bytes === null ? result : { ...result, result_data: parseResultData(bytes) };
    });
  }

  /** 0 if there is no such blob. */
  async blobSize(tenantId: string, sha256: string): Promise<number> {
    return (isBlobName(tenantId, sha256) ? await this.blobs.size(tenantId, sha256) : null) ?? 0;
  }

  async getBlob(tenantId: string, sha256: string): AsyncReply<Uint8Array> {
    const bytes = isBlobName(tenantId, sha256) ? await this.blobs.get(tenantId, sha256) : null;
    return bytes ?? problem('NOT_FOUND', 'There is no blob with that hash.');
  }

  /** For a session it says also whether it holds the work itself. */
  explain(projectKey: ProjectKey, taskId: string, sessionId?: string): AsyncReply<Explanation> {
    return this.withSubject(projectKey, taskId, async (view, subject) => {
      const liveClaims = await this.store.countPermits(projectKey.tenant_id, CLAIMS_SCOPE);
      return explain(view, subject, { liveClaims, sessionId: sessionId ?? null });
    });
  }

  /** The project's status, now or at a position of its log. */
  status(projectKey: ProjectKey, at?: number): AsyncReply<ProjectStatus> {
    return this.scheduleRead(projectKey, async (project) => {
      if (at !== undefined) {
        const state = await this.stateAt(project, at);
        if (isProblem(state)) return state;
        return runInSlices(statusSteps(state, foldContextAt(project, state)), this.environment);
      }
      const { parked } = await this.tallies.stateOf(project);
      return runInSlices(statusSteps({ ...project.state, parked }, project.view()), this.environment);
    });
  }

  agents(projectKey: ProjectKey, at?: number, query: PageQuery = {}) {
    return this.scheduleRead(projectKey, async (project) => {
      const past = at === undefined ? null : await this.stateAt(project, at);
      if (isProblem(past)) return past;
      const { agents: tallied } = past ?? (await this.tallies.stateOf(project));
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

  private async entryOf(projectKey: ProjectKey): Promise<ProjectEntry> {
    const position = (await this.store.project(projectKey))?.position ?? 0;
    const last = position === 0 ? [] : await this.store.events(projectKey, { after: position - 1, limit: 1 });
    return { project_id: projectKey.project_id, position, last_updated: last[0]?.timestamp ?? null };
  }

  private async withSubject<T>(
    projectKey: ProjectKey,
    taskId: string,
    query: SubjectQuery<T>,
  ): AsyncReply<T> {
    const subject = parseSubject(taskId);
    if (isProblem(subject)) return subject;
    return this.projects.query(projectKey, async (project) => {
      const view = project.view();
      return subjectProblem(view, subject) ?? query(view, subject);
    });
  }

  private scheduleSubjectRead<T>(
    projectKey: ProjectKey,
    taskId: string,
    query: SubjectQuery<T>,
  ): AsyncReply<T> {
    return this.readScheduler.run(projectKey.tenant_id, () => this.withSubject(projectKey, taskId, query));
  }

  /** Queues a potentially slow read with the read scheduler. */
  private scheduleRead<T>(projectKey: ProjectKey, query: (project: Project) => AsyncReply<T>): AsyncReply<T> {
    return this.readScheduler.run(projectKey.tenant_id, () => this.projects.query(projectKey, query));
  }
}

/** The log has the count only now and then; of the current generation this coordinator may know a later one. */
function refusedCount(view: DecisionView, subject: string, refusals: RefusalCounts): number {
  const { generation } = view.peekHead(subject);
  const logged = refusals.totalOf(generation);
  return refusals.total + Math.max(0, view.refusals.totalOf(subject, generation) - logged);
}

const LINEAGE_EVENT_KINDS: ReadonlySet<string> = new Set([
  'granted',
  'lost',
  'released',
  'accepted',
  'adopted',
  'reviewed',
]);

/** Aggregates that only events have, not heads: statistics per agent, and parked results per subject. */
const emptyTallies = () => ({
  agents: new Map<string, AgentStats>(),
  parked: new Map() as ParkedIds,
});

function evolveTallies({ agents, parked }: ReturnType<typeof emptyTallies>, event: EventEnvelope): void {
  updateAgentStats(agents, event);
  updateParked(parked, event);
}

/** The fold context of the past: the time and policy of then, but today's tenant limits. */
function foldContextAt({ key, limits, services }: Project, state: ProjectState): FoldContext {
  const policy = state.records.get(POLICY_SUBJECT) ?? null;
  const loss = state.records.get(LOSS_SUBJECT) ?? null;
  const rules = new ProjectRules({ policy, loss }, limits, services.skew_margin_ms);
  const now_ms = msOf(state.last_updated ?? isoTime(0));
  return { key, now_ms, rulesOf: rules.of };
}

function liveClaims(project: Project): number {
  const view = project.view();
  return [...project.state.live].filter((subject) => view.isLive(subject)).length;
}

const isBlobName = (tenantId: string, sha256: string): boolean =>
  tenantProblem(tenantId) === null && /^[0-9a-f]{64}$/.test(sha256);

/** Null if it is not strict JSON. The blob can be fetched as it is. */
function parseResultData(bytes: Uint8Array): unknown {
  const parsed = readStrictJson(Buffer.from(bytes).toString());
  return 'value' in parsed ? parsed.value : null;
}
