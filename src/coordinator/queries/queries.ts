import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { ExpiredClaimsQuery, ProjectEntry, ProjectStatus } from '../../core/contract/overview.js';
import { type AtQuery, PAGE_MAX, type PageQuery } from '../../core/contract/schema.js';
import type { Explanation, Lineage, TaskFilter, TaskResult, TaskState } from '../../core/contract/tasks.js';
import { lastRunOf, type RunsState } from '../../core/engine/run-summaries.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { readStrictJson } from '../../core/strict-json.js';
import {
  type AgentStats,
  agentViews,
  lineageOf,
  type ParkedIds,
  parkedResults,
  RefusalCounts,
  resultsOf,
  statusInSlices,
  taskStateIn,
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
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type AsyncReply, fieldProblem, isProblem, type Problem, problem } from '../wire/problem.js';
import { tenantProblem } from '../wire/project-key.js';
import { cursorAheadProblem, cursorAt, INVALID_CURSOR, positionOfCursor } from './cursor.js';
import { expiredClaims } from './expired-claims.js';
import { explain } from './explain.js';
import type { EventHistory } from './history.js';
import { firstNames, LatestItems, limitOf, PAGE_CHARS_MAX, pageOf } from './page.js';
import { pastProject } from './past.js';
import type { ReadScheduler } from './read-scheduler.js';
import { detailedStateOf, statesOf, subjectProblem, tasksIn, type ViewedProject } from './tasks.js';

/** Maximum number of events from which a lineage is built, in addition to its refused results. */
const LINEAGE_EVENTS_MAX = 10_000;

type SubjectQuery<T> = (view: DecisionView, subject: string, project: Project) => AsyncReply<T>;

/** Queries. Those about the present state of a project read its heads, after a refresh. */
export class Queries {
  private readonly tallies = new EventProjection(emptyTallies, evolveTallies);

  constructor(
    private readonly projects: Projects,
    private readonly store: Store,
    private readonly history: EventHistory,
    private readonly blobs: Blobs,
    private readonly readScheduler: ReadScheduler,
    private readonly environment: Environment,
    private readonly readRuns: (project: Project) => Promise<RunsState>,
  ) {}

  projectsOf(tenantId: string): Promise<string[]> {
    return this.projects.projectIdsOf(tenantId);
  }

  listProjects(tenant_id: string, query: PageQuery = {}) {
    return this.readScheduler.run(tenant_id, async () => {
      const ids = (await this.projects.projectIdsOf(tenant_id)).sort();
      const { items, next } = pageOf(ids, (id) => id, query);
      const entries = items.map((project_id) => this.entryOf({ tenant_id, project_id }));
      return { projects: await Promise.all(entries), next };
    });
  }

  getTaskState(projectKey: ProjectKey, taskId: string, { at }: AtQuery = {}): AsyncReply<TaskState> {
    if (at !== undefined) return this.pastTaskState(projectKey, taskId, at);
    return this.withSubject(projectKey, taskId, async (view, subject) => {
      const parked = parkedResults(await this.history.ofSubject(projectKey, subject)).length;
      return detailedStateOf(view, subject, parked);
    });
  }

  /** The state of a task at a position. It has no checks of an edge, which follow from the current configuration. */
  private async pastTaskState(projectKey: ProjectKey, taskId: string, at: number): AsyncReply<TaskState> {
    const subject = parseSubject(taskId);
    if (isProblem(subject)) return subject;
    return this.scheduleRead(projectKey, async (project) => {
      const past = await pastProject(this.history, project, at);
      if (isProblem(past)) return past;
      const { plan, heads } = past.state;
      if (plan.get(subject) === undefined && !heads.has(subject))
        return problem('NOT_FOUND', `${subject} was not in the project at position ${at}.`);
      return taskStateIn(past.state, subject, past.context);
    });
  }

  /** The states of several tasks, in the order of their ids in the request. For an unknown task there is a problem. */
  async batchGetStates(projectKey: ProjectKey, taskIds: readonly string[]) {
    if (taskIds.length > PAGE_MAX) return fieldProblem('task_ids', `expected at most ${PAGE_MAX}`);
    return this.scheduleRead(projectKey, async (project) => {
      const { parked } = await this.tallies.stateOf(project);
      return { tasks: await runInSlices(statesOf(project, taskIds, parked), this.environment) };
    });
  }

  listTasks(projectKey: ProjectKey, { at, ...filter }: TaskFilter = {}) {
    return this.scheduleRead(projectKey, async (project) => {
      const viewed = await this.viewedAt(project, at);
      if (isProblem(viewed)) return viewed;
      const page = await runInSlices(tasksIn(viewed, filter), this.environment);
      return { ...page, position: viewed.state.position };
    });
  }

  getClaimHistory(
    projectKey: ProjectKey,
    taskId: string,
    { at, ...query }: PageQuery & AtQuery = {},
  ): AsyncReply<Lineage> {
    const max = limitOf(query);
    return this.scheduleSubjectRead(projectKey, taskId, at, async (subject, untilAt, view) => {
      const refusals = new RefusalCounts();
      const lineageEvents = new LatestItems<EventEnvelope>(LINEAGE_EVENTS_MAX);
      const refused = new LatestItems<EventEnvelope>(max);
      await this.history.forEach(projectKey, { subject, ...untilAt }, (event) => {
        refusals.add(event);
        if (claimEventKindOf(event.event_type) === 'result_refused')
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
        refused_count: at === undefined ? refusedCount(view, subject, refusals) : refusals.total,
        generations: generations.slice(-max),
        reviews: reviews.slice(-max),
        ...(omitted === 0 ? {} : { omitted }),
      };
    });
  }

  listResults(projectKey: ProjectKey, taskId: string, { at, ...query }: PageQuery & AtQuery = {}) {
    const after = positionOfCursor(query.after ?? '');
    if (after === null) return Promise.resolve(INVALID_CURSOR);
    return this.scheduleSubjectRead(projectKey, taskId, at, async (subject, untilAt) => {
      const results: TaskResult[] = [];
      let chars = 0;
      let next: string | null = null;
      await this.history.forEach(projectKey, { subject, after, ...untilAt }, (event) => {
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
  getResult(
    projectKey: ProjectKey,
    taskId: string,
    resultId: string,
    { at }: AtQuery = {},
  ): AsyncReply<TaskResult> {
    return this.scheduleSubjectRead(projectKey, taskId, at, async (subject, untilAt) => {
      let found: TaskResult | undefined;
      await this.history.forEach(projectKey, { subject, ...untilAt }, (event) => {
        const [result] = resultsOf([event]);
        if (result?.id === resultId && (found === undefined || result.accepted)) found = result;
        return found?.accepted !== true;
      });
      const result = found as TaskResult | undefined;
      if (result === undefined)
        return problem('NOT_FOUND', 'There is no result with that id. List the results: gen task history.');
      if (result.blob_sha256 === null) return result;
      // Data of this size takes too long to parse. The blob itself can still be fetched.
      const size = (await this.blobs.size(projectKey.tenant_id, result.blob_sha256)) ?? 0;
      if (size > PAGE_CHARS_MAX) return { ...result, result_data: null };
      const bytes = await this.blobs.get(projectKey.tenant_id, result.blob_sha256);
      return bytes === null ? result : { ...result, result_data: parseResultData(bytes) };
    });
  }

  /** The size of a blob in bytes; 0 if there is no such blob. */
  async blobSize(tenantId: string, sha256: string): Promise<number> {
    return (isBlobName(tenantId, sha256) ? await this.blobs.size(tenantId, sha256) : null) ?? 0;
  }

  async getBlob(tenantId: string, sha256: string): AsyncReply<Uint8Array> {
    const bytes = isBlobName(tenantId, sha256) ? await this.blobs.get(tenantId, sha256) : null;
    return bytes ?? problem('NOT_FOUND', `There is no blob ${sha256}. Check the hash, or upload the blob.`);
  }

  /** With a session id, the reply also says whether that session holds the work. */
  explain(projectKey: ProjectKey, taskId: string, sessionId?: string): AsyncReply<Explanation> {
    return this.withSubject(projectKey, taskId, async (view, subject, project) => {
      const liveClaimCount = await this.store.countPermits(projectKey.tenant_id, CLAIMS_SCOPE);
      // Only the advice for suspended work names a run.
      const isSuspended = view.peekHead(subject).claim?.state === 'SUSPENDED';
      const lastRun = isSuspended ? lastRunOf(await this.readRuns(project), subject) : null;
      return explain(view, subject, { liveClaimCount, sessionId: sessionId ?? null, lastRun });
    });
  }

  /** The project's status, now or at a position of its log. */
  status(projectKey: ProjectKey, at?: number): AsyncReply<ProjectStatus> {
    return this.scheduleRead(projectKey, async (project) => {
      const viewed = await this.viewedAt(project, at);
      if (isProblem(viewed)) return viewed;
      return runInSlices(statusInSlices(viewed.state, viewed.contextNow()), this.environment);
    });
  }

  expiredClaims(projectKey: ProjectKey, { at, before, ...page }: ExpiredClaimsQuery = {}) {
    return this.scheduleRead(projectKey, async (project) => {
      const viewed = await this.viewedAt(project, at);
      if (isProblem(viewed)) return viewed;
      const { state } = viewed;
      const context = viewed.contextNow();
      const beforeMs = before === undefined ? context.now_ms : Date.parse(before);
      const found = await runInSlices(expiredClaims(state, context, beforeMs, page), this.environment);
      return { ...found, position: state.position, last_updated: state.last_updated };
    });
  }

  agents(projectKey: ProjectKey, at?: number, query: PageQuery = {}) {
    return this.scheduleRead(projectKey, async (project) => {
      const past = at === undefined ? null : await pastProject(this.history, project, at);
      if (isProblem(past)) return past;
      const { agents: agentStats } = past?.state ?? (await this.tallies.stateOf(project));
      const state = past?.state ?? project.state;
      const limit = limitOf(query);
      const agentIds = await runInSlices(
        firstNames(agentStats.keys(), query.after ?? '', limit + 1),
        this.environment,
      );
      const agents = agentViews({ ...state, agents: agentStats }, agentIds.slice(0, limit));
      const next = agentIds.length > limit ? (agents.at(-1)?.agent_id ?? null) : null;
      return { agents, next, position: state.position, last_updated: state.last_updated };
    });
  }

  /** The project now or at a position, as views read it. */
  private async viewedAt(project: Project, at: number | undefined): Promise<ViewedProject | Problem> {
    if (at === undefined) {
      const { parked } = await this.tallies.stateOf(project);
      return { state: { ...project.state, parked }, contextNow: () => project.view() };
    }
    const past = await pastProject(this.history, project, at);
    return isProblem(past) ? past : { state: past.state, contextNow: () => past.context };
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
      return subjectProblem(view, subject) ?? query(view, subject, project);
    });
  }

  /** Reads the events of a subject, up to a position if one is given. */
  private scheduleSubjectRead<T>(
    projectKey: ProjectKey,
    taskId: string,
    at: number | undefined,
    query: (subject: string, untilAt: { until_position?: number }, view: DecisionView) => AsyncReply<T>,
  ): AsyncReply<T> {
    return this.readScheduler.run(projectKey.tenant_id, () =>
      this.withSubject(projectKey, taskId, async (view, subject) => {
        if (at === undefined) return query(subject, {}, view);
        const { position } = view.state;
        return at > position
          ? cursorAheadProblem('at', at, position)
          : query(subject, { until_position: at }, view);
      }),
    );
  }

  /** Runs a read that may be slow through the read scheduler. */
  private scheduleRead<T>(projectKey: ProjectKey, query: (project: Project) => AsyncReply<T>): AsyncReply<T> {
    return this.readScheduler.run(projectKey.tenant_id, () => this.projects.query(projectKey, query));
  }
}

/**
 * The number of refused commands on a subject. The log records it only occasionally, so for the current generation this
 * coordinator may know of more.
 */
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

/** Aggregates that heads lack, computed from events: statistics per agent, and parked results per subject. */
const emptyTallies = () => ({
  agents: new Map<string, AgentStats>(),
  parked: new Map() as ParkedIds,
});

function evolveTallies({ agents, parked }: ReturnType<typeof emptyTallies>, event: EventEnvelope): void {
  updateAgentStats(agents, event);
  updateParked(parked, event);
}

const isBlobName = (tenantId: string, sha256: string): boolean =>
  tenantProblem(tenantId) === null && /^[0-9a-f]{64}$/.test(sha256);

/** The parsed data; null if the blob is not strict JSON. The blob itself can still be fetched. */
function parseResultData(bytes: Uint8Array): unknown {
  const parsed = readStrictJson(Buffer.from(bytes).toString());
  return 'value' in parsed ? parsed.value : null;
}
