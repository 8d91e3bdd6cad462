import {
  type CancelRunResult,
  cancelRunBody,
  type IterateResult,
  iterateBody,
  type RunReply,
  type RunSummary,
  type RunsQuery,
  type RunsReply,
  type SpentQuery,
  type SpentReply,
} from '../../core/contract/runs.js';
import type { LogPosition } from '../../core/contract/schema.js';
import { PAGE_MAX } from '../../core/contract/schema.js';
import { addCost, type Cost, NO_COST } from '../../core/engine/check-outcome.js';
import { emptyRunsState, evolveRuns, type RunsState } from '../../core/engine/run-summaries.js';
import { foldRuns, type RunStep } from '../../core/engine/runs.js';
import type { SliceableWork } from '../../core/sliceable-work.js';
import { subjectKeys } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import { OPEN_CALLER } from '../authentication/caller.js';
import { CancelRunOperation, refusedCancellation } from '../operations/cancel-run.js';
import { parseBody, parseRoleBody, subjectOfBody } from '../operations/parse-body.js';
import { RequestRunOperation } from '../operations/request-run.js';
import type { EventHistory } from '../queries/history.js';
import { LatestItems, limitOf } from '../queries/page.js';
import type { ReadScheduler } from '../queries/read-scheduler.js';
import { TenantSpending } from '../queries/tenant-spending.js';
import { EventProjection } from '../queue/event-projection.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type AsyncReply, fieldProblem, isProblem, type Problem, problem } from '../wire/problem.js';

/** Runs of the iterate engine, from the log: requested and cancelled here, executed elsewhere. */
export class RunsService {
  private readonly projection = new EventProjection(emptyRunsState, evolveRuns);
  private readonly tenantSpending: TenantSpending;

  constructor(
    private readonly projects: Projects,
    private readonly history: EventHistory,
    private readonly readScheduler: ReadScheduler,
    private readonly environment: Environment,
  ) {
    this.tenantSpending = new TenantSpending(projects, history, environment);
  }

  /** The state of the runs of a project, up to date. Later events update the same object. */
  stateOf(project: Project): Promise<RunsState> {
    return this.projection.stateOf(project);
  }

  /** Lists runs, newest first. */
  list(projectKey: ProjectKey, query: RunsQuery = {}): AsyncReply<RunsReply> {
    const after = query.after === undefined ? Number.POSITIVE_INFINITY : Number(query.after);
    if (Number.isNaN(after))
      return Promise.resolve(fieldProblem('after', 'expected the value of `next` in the previous page'));
    return this.scheduleRead(projectKey, async (state) => {
      const page = await runInSlices(runsBefore(state, after, query), this.environment);
      return { ...page, ...logPositionOf(state) };
    });
  }

  /** Shows one run with as many of its latest steps as fit. For the steps it reads only the events of the run's edge. */
  show(projectKey: ProjectKey, runId: string): AsyncReply<RunReply> {
    return this.scheduleRead(projectKey, async (state) => {
      const summary = state.runs.get(runId);
      if (summary === undefined) return unknownRunProblem(runId);
      const events = await this.history.ofSubject(projectKey, summary.task_id);
      const run = foldRuns(events).find(({ run_id }) => run_id === runId);
      if (run === undefined) return unknownRunProblem(runId);
      const steps = new LatestItems<RunStep>();
      for (const step of run.steps) steps.push(step, JSON.stringify(step).length);
      return { run: { ...run, steps: steps.items }, omitted_steps: steps.omitted, ...logPositionOf(state) };
    });
  }

  spent(projectKey: ProjectKey, { feature }: SpentQuery = {}): AsyncReply<SpentReply> {
    return this.scheduleRead(projectKey, async (state) => {
      const others = await this.tenantSpending.ofOtherProjects(projectKey);
      const spent = { ...spendingOf(state, feature), tenant: addCost(others, state.spent) };
      return { spent, ...logPositionOf(state) };
    });
  }

  async request(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<IterateResult> {
    const fields = parseRoleBody(iterateBody, body, caller);
    if (isProblem(fields)) return fields;
    const subject = subjectOfBody({ feature_id: fields.feature_id, edge: fields.edge });
    if (isProblem(subject)) return subject;
    return this.projects.withRefreshedProject(projectKey, async (project) => {
      const state = await this.stateOf(project);
      return project.run(new RequestRunOperation(subject, fields, state, caller), caller);
    });
  }

  async cancel(
    projectKey: ProjectKey,
    runId: string,
    body: unknown,
    caller = OPEN_CALLER,
  ): AsyncReply<CancelRunResult> {
    const fields = parseBody(cancelRunBody, body);
    if (isProblem(fields)) return fields;
    return this.projects.withRefreshedProject(projectKey, async (project) => {
      const run = (await this.stateOf(project)).runs.get(runId);
      if (run === undefined) return refusedCancellation('UNKNOWN_RUN');
      return project.run(new CancelRunOperation(run, fields, caller), caller);
    });
  }

  private scheduleRead<T>(projectKey: ProjectKey, work: (state: RunsState) => AsyncReply<T>): AsyncReply<T> {
    return this.readScheduler.run(projectKey.tenant_id, () =>
      this.projects.query(projectKey, async (project) => work(await this.stateOf(project))),
    );
  }
}

/** Maximum number of runs scanned for a page. A page of a selective filter may be short: its cursor continues. */
const RUNS_SCANNED_MAX = 20_000;
const RUNS_BETWEEN_PAUSES = 200;

/** A page of the runs before an index of the list, newest first. The list only grows at its end. */
function* runsBefore(
  { run_ids, runs }: RunsState,
  before: number,
  query: RunsQuery,
): SliceableWork<Pick<RunsReply, 'runs' | 'next'>> {
  const limit = limitOf({ limit: query.limit ?? 100 });
  const selectedRuns: RunSummary[] = [];
  const from = Math.min(before, run_ids.length);
  for (let at = from - 1; at >= 0; at -= 1) {
    if (selectedRuns.length === limit || from - at > RUNS_SCANNED_MAX)
      return { runs: selectedRuns, next: String(at + 1) };
    const run = runs.get(run_ids[at] ?? '');
    if (run !== undefined && matchesQuery(run, query)) selectedRuns.push(run);
    if (at % RUNS_BETWEEN_PAUSES === 0) yield;
  }
  return { runs: selectedRuns, next: null };
}

const matchesQuery = ({ task_id, status }: RunSummary, query: RunsQuery): boolean =>
  (query.feature === undefined || subjectKeys(task_id).feature_id === query.feature) &&
  (query.status === undefined || status === query.status);

/** The spending of the project, and of one feature or of the first features. */
export function spendingOf(
  { spent, spent_by_feature }: RunsState,
  feature?: string,
): { features: Record<string, Cost>; project: Cost } {
  const features =
    feature === undefined
      ? [...spent_by_feature].slice(0, PAGE_MAX)
      : [[feature, spent_by_feature.get(feature) ?? NO_COST] as const];
  return { features: Object.fromEntries(features), project: spent };
}

const logPositionOf = ({ position, last_updated }: LogPosition): LogPosition => ({ position, last_updated });

const unknownRunProblem = (runId: string): Problem =>
  problem('NOT_FOUND', `There is no run ${runId} in this project. List the runs: gen runs.`);
