import type { AgentEventFilter, EventFilter, RecentEventFilter } from '../../core/contract/events.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { EventQuery, ProjectKey, Store } from '../../stores/store.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { catchStoreErrors } from '../wire/problem.js';
import { projectKeyProblem } from '../wire/project-key.js';
import { cursorAheadProblem, cursorAt, INVALID_CURSOR, positionOfCursor } from './cursor.js';
import { PAGE_CHARS_MAX } from './page.js';
import type { ReadScheduler } from './read-scheduler.js';

const PAGE_EVENTS_MAX = 1000;
/** Number of events that are read first; their size decides how many are read next. */
const FIRST_CHUNK_EVENTS = 50;
/** Maximum number of projects that are searched for one page of an agent's events. */
const PROJECTS_SEARCHED_MAX = 100;
/** Number of events read at a time while following the log: some stores decode them at once. */
const FOLLOWED_EVENTS = 100;

/** Number of positions in one read towards the beginning of the log, and maximum number of such reads for one page. */
const WINDOW_EVENTS = 100;
const WINDOWS_MAX = 100;

/** A project's events, as pages or as a live stream. */
export class EventFeed {
  constructor(
    private readonly projects: Projects,
    private readonly store: Store,
    private readonly readScheduler: ReadScheduler,
    private readonly environment: Pick<Environment, 'yieldToEventLoop'>,
  ) {}

  async page(projectKey: ProjectKey, filter: EventFilter = {}) {
    const problem = projectKeyProblem(projectKey);
    if (problem !== null) return problem;
    const after = positionOfCursor(filter.after ?? '');
    if (after === null) return INVALID_CURSOR;
    const { after: _, limit = 100, type, ...filterFields } = canonicalFilter(filter);
    const query: EventQuery = {
      ...filterFields,
      ...(type === undefined ? {} : { types: [type] }),
      after,
      limit: Math.min(Math.max(limit, 1), PAGE_EVENTS_MAX),
    };
    const readPage = async () => {
      const events = await this.read(projectKey, query);
      // A project without a first event does not exist.
      const end = events.length === 0 ? await this.endBefore(projectKey, Math.max(after, 1)) : null;
      const unknownProblem = end === 0 ? await this.projects.unknownProblem(projectKey) : null;
      if (unknownProblem !== null) return unknownProblem;
      if (end !== null && end < after) return cursorAheadProblem('after', after, end);
      return { events, next: cursorAt(events.at(-1)?.position ?? after) };
    };
    return catchStoreErrors(() => this.readScheduler.run(projectKey.tenant_id, readPage));
  }

  /** Events before a position, newest first. Searches a limited part of the log: pass the reply's `before` for more. */
  async recentPage(projectKey: ProjectKey, filter: RecentEventFilter = {}) {
    const problem = projectKeyProblem(projectKey);
    if (problem !== null) return problem;
    const { before, limit = 100, type, ...filterFields } = canonicalFilter(filter);
    const query = { ...filterFields, ...(type === undefined ? {} : { types: [type] }) };
    const readPage = async () => {
      const end = (await this.store.project(projectKey))?.position ?? 0;
      const unknownProblem = end === 0 ? await this.projects.unknownProblem(projectKey) : null;
      if (unknownProblem !== null) return unknownProblem;
      const events: EventEnvelope[] = [];
      let until_position = Math.min(end, (before ?? end + 1) - 1);
      for (let windows = 0; windows < WINDOWS_MAX && until_position > 0; windows += 1) {
        const after = Math.max(0, until_position - WINDOW_EVENTS);
        const windowEvents = await this.store.events(projectKey, {
          ...query,
          ...{ after, until_position, limit: WINDOW_EVENTS },
        });
        const missing = limit - events.length;
        events.push(...windowEvents.slice(-missing).reverse());
        until_position = windowEvents.length > missing ? (events.at(-1)?.position ?? 1) - 1 : after;
        if (events.length === limit || lengthOf(events) >= PAGE_CHARS_MAX) break;
        await this.environment.yieldToEventLoop();
      }
      return { events, before: until_position === 0 ? null : until_position + 1 };
    };
    return catchStoreErrors(() => this.readScheduler.run(projectKey.tenant_id, readPage));
  }

  /**
   * Events of an agent in all projects of the tenant, ordered by project, then position. The cursor is
   * `project_id/position`. A page may be short: its cursor continues the search.
   */
  agentPage(tenant_id: string, filter: AgentEventFilter) {
    const { after = '/0', limit = 100, type, ...filterFields } = filter;
    const [, firstProject, position] = /^([^/]*)\/(\d{1,15})$/.exec(after) ?? [];
    if (firstProject === undefined) return Promise.resolve(INVALID_CURSOR);
    const readPage = async () => {
      const projectIds = (await this.projects.projectIdsOf(tenant_id)).sort();
      const remaining = projectIds.filter((project_id) => project_id >= firstProject);
      const events: EventEnvelope[] = [];
      for (const [index, project_id] of remaining.entries()) {
        if (index === PROJECTS_SEARCHED_MAX) return { events, next: `${project_id}/0` };
        const start = project_id === firstProject ? Number(position) : 0;
        const query = {
          ...filterFields,
          ...(type === undefined ? {} : { types: [type] }),
          after: start,
          limit: limit - events.length,
        };
        const projectEvents = await this.read({ tenant_id, project_id }, query);
        events.push(...projectEvents);
        if (projectEvents.length === query.limit || lengthOf(events) >= PAGE_CHARS_MAX)
          return { events, next: `${project_id}/${projectEvents.at(-1)?.position ?? start}` };
        await this.environment.yieldToEventLoop();
      }
      return { events, next: null };
    };
    return catchStoreErrors(() => this.readScheduler.run(tenant_id, readPage));
  }

  /** The end of the log if it is before the position; null if the position is within the log. */
  private async endBefore(projectKey: ProjectKey, position: number): Promise<number | null> {
    const end = (await this.store.project(projectKey))?.position ?? 0;
    if (end >= position) return null;
    // In some stores, a new event can be read shortly before the project's position includes it.
    const [last] = await this.store.events(projectKey, {
      after: position - 1,
      until_position: position,
      limit: 1,
    });
    return last === undefined ? end : null;
  }

  /** As many events as fit into one reply. Yields to the event loop between chunks. */
  private async read(projectKey: ProjectKey, query: EventQuery): Promise<EventEnvelope[]> {
    const events: EventEnvelope[] = [];
    let chars = 0;
    while (events.length < query.limit && chars < PAGE_CHARS_MAX) {
      const fittingCount =
        chars === 0 ? FIRST_CHUNK_EVENTS : Math.ceil(((PAGE_CHARS_MAX - chars) * events.length) / chars);
      const limit = Math.min(query.limit - events.length, fittingCount);
      const chunk = await this.store.events(projectKey, {
        ...query,
        after: events.at(-1)?.position ?? query.after,
        limit,
      });
      for (const event of chunk) {
        if (chars >= PAGE_CHARS_MAX) break;
        events.push(event);
        chars += JSON.stringify(event.payload).length;
      }
      if (chunk.length < limit) break;
      await this.environment.yieldToEventLoop();
    }
    return events;
  }

  /**
   * Yields every event from a cursor on, once and in order, across restarts: events are always read from the log by
   * position. Ends at once if the cursor is beyond the end of the log.
   */
  async *follow(
    projectKey: ProjectKey,
    cursor: string,
    signal: AbortSignal,
  ): AsyncGenerator<{ event: EventEnvelope; cursor: string }> {
    if (projectKeyProblem(projectKey) !== null) return;
    try {
      const project = await this.projects.addReference(projectKey);
      let position = positionOfCursor(cursor) ?? 0;
      if ((await this.endBefore(projectKey, position)) !== null) return;
      while (!signal.aborted) {
        const events = await this.store.events(projectKey, { after: position, limit: FOLLOWED_EVENTS });
        for (const event of events) {
          if (signal.aborted) return;
          position = event.position;
          yield { event, cursor: cursorAt(position) };
        }
        if (events.length === 0 && !signal.aborted) await waitUntilBeyond(project, position, signal);
      }
    } finally {
      this.projects.dropReference(projectKey);
    }
  }
}

const lengthOf = (events: readonly EventEnvelope[]): number =>
  events.reduce((sum, { payload }) => sum + JSON.stringify(payload).length, 0);

function waitUntilBeyond(project: Project, position: number, signal: AbortSignal): Promise<void> {
  if (project.state.position > position) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = project.changeNotifier.once(done);
    signal.addEventListener('abort', done, { once: true });
    function done() {
      stop();
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}

interface SubjectFilter {
  readonly task_id?: string;
  readonly feature_id?: string;
  readonly edge?: string;
}

/**
 * Normalizes a filter: an edge in any spelling, or given as `task_id`, becomes feature_id and edge in canonical
 * spelling, which is how the log stores it.
 */
export function canonicalFilter<Filter extends SubjectFilter>(filter: Filter): Filter {
  const { task_id, edge } = filter;
  const normalized = edge === undefined ? filter : { ...filter, edge: canonicalEdge(edge) };
  if (task_id === undefined || subjectKindOf(task_id) !== 'edge') return normalized;
  const keys = subjectKeys(task_id);
  const edgeFields = { feature_id: keys.feature_id as string, edge: canonicalEdge(keys.edge as string) };
  const isConsistent = (name: 'feature_id' | 'edge') =>
    normalized[name] === undefined || normalized[name] === edgeFields[name];
  // Contradictory names match nothing: no event has both these fields and this task_id.
  if (!isConsistent('feature_id') || !isConsistent('edge')) return normalized;
  const { task_id: _, ...filterFields } = normalized;
  return { ...filterFields, ...edgeFields } as Filter;
}
