import { type CheckpointReply, checkpointBody } from '../../core/contract/checkpoints.js';
import type { GateResult } from '../../core/contract/claim-replies.js';
import { type GapsFoundReply, type GapsReply, gapsBody } from '../../core/contract/gaps.js';
import {
  type FeatureView,
  featureBody,
  type HealthReport,
  type MethodologyStatus,
  type TracedFeature,
  type TraceReply,
  traceBody,
  type ZoomView,
  zoomBody,
} from '../../core/contract/methodology-views.js';
import {
  DECISION_CODES,
  decideReviewBody,
  type PendingReview,
  type ReviewsReply,
} from '../../core/contract/reviews.js';
import type { AtQuery, LogPosition } from '../../core/contract/schema.js';
import { type FoldBackReply, foldBackBody, type SpawnReply, spawnBody } from '../../core/contract/spawns.js';
import { type StartReply, startBody } from '../../core/contract/start.js';
import { type VersionReleaseReply, versionReleaseBody } from '../../core/contract/version-releases.js';
import {
  decidedEdges,
  emptyRunsState,
  evolveRuns,
  RUN_EVENT_TYPES,
  type RunsState,
} from '../../core/engine/run-summaries.js';
import { evolveMethodology } from '../../core/methodology/progress/evolve.js';
import {
  emptyMethodologyState,
  type MethodologyState,
  type RouteInput,
} from '../../core/methodology/progress/feature-state.js';
import { chooseRoute } from '../../core/methodology/routing/choose-route.js';
import { featureView } from '../../core/methodology/views/feature-view.js';
import { ganttText } from '../../core/methodology/views/gantt.js';
import { healthView } from '../../core/methodology/views/health.js';
import { statusView } from '../../core/methodology/views/status.js';
import { traceView } from '../../core/methodology/views/trace.js';
import { zoomView } from '../../core/methodology/views/zoom.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { parseBody, parseRoleBody, subjectOfBody } from '../operations/parse-body.js';
import { pendingProposals } from '../operations/task-proposals.js';
import type { EventHistory } from '../queries/history.js';
import { pastProject } from '../queries/past.js';
import type { ReadScheduler } from '../queries/read-scheduler.js';
import { EventProjection } from '../queue/event-projection.js';
import type { Operation } from '../queue/operation.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import { spendingOf } from '../services/runs.js';
import { type AsyncReply, isProblem, type Problem, problem } from '../wire/problem.js';
import { buildCheckpointReply, checkpointOperation } from './checkpoint.js';
import { foldBackOperation } from './fold-back.js';
import { gapsOperation } from './gaps.js';
import { releaseOperation } from './release.js';
import { pendingReviewOf, pendingReviews, withFiles } from './reviews.js';
import { spawnOperation } from './spawn.js';
import { viewInputOf } from './view-input.js';

interface MethodologyServices {
  readonly projects: Projects;
  readonly readScheduler: ReadScheduler;
  readonly history: EventHistory;
  readonly blobs: Blobs;
  /** The runs of a project, up to now. */
  readonly readRuns: (project: Project) => Promise<RunsState>;
  /** Records a decision on a candidate. The decision belongs to the claim, so the rules of claims apply. */
  readonly recordReview: (projectKey: ProjectKey, body: unknown, caller: Caller) => AsyncReply<GateResult>;
}

/** A project with its up-to-date methodology state. */
interface CurrentProject {
  readonly project: Project;
  readonly state: MethodologyState;
}

/** The methodology's commands and views. They use the same log and rules as all other commands. */
export class MethodologyService {
  private readonly projection = new EventProjection(emptyMethodologyState, evolveMethodology);

  constructor(private readonly services: MethodologyServices) {}

  /** Recommends the next work. Never writes anything, dry run or not. */
  async start(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<StartReply> {
    const parsed = parseRoleBody(startBody, body, caller);
    if (isProblem(parsed)) return parsed;
    const { dry_run: _, request_id: __, ...fields } = parsed;
    const constraints = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    return this.scheduleRead(projectKey, async ({ project, state }) => {
      const decided_edges = decidedEdges(await this.services.readRuns(project));
      const input = viewInputOf(project.state, state, project.view());
      const { reasons, ...chosen } = chooseRoute({ ...input, decided_edges, request: constraints });
      const { evidence } = input;
      const route = { execution_id: null, ...chosen, reasons, routing_reason: reasons.join('; '), evidence };
      return { ...route, ...logPositionOf(state) };
    });
  }

  /** The status, with the recommended next step of an agent. An agent that holds a claim is told to continue it. */
  status(
    projectKey: ProjectKey,
    { agent_id, at }: { agent_id?: string } & AtQuery = {},
  ): AsyncReply<MethodologyStatus> {
    const request = withoutUndefined({ agent_id });
    return this.readView(projectKey, at, (input) => statusView({ ...input, request }));
  }
  health(projectKey: ProjectKey, { at }: AtQuery = {}): AsyncReply<HealthReport & LogPosition> {
    return this.scheduleRead(projectKey, async ({ project, state }) => {
      const input = await this.inputAt(project, state, at);
      if (isProblem(input)) return input;
      const spent = spendingOf(await this.runsAt(project, at));
      return { ...healthView(input, spent), ...logPositionOf(input.state) };
    });
  }
  /** A Gantt chart as Mermaid text. */
  gantt(projectKey: ProjectKey, { at }: AtQuery = {}): AsyncReply<{ gantt: string } & LogPosition> {
    return this.readView(projectKey, at, (input) => ({ gantt: ganttText(input) }));
  }

  async feature(projectKey: ProjectKey, body: unknown): AsyncReply<FeatureView & LogPosition> {
    const fields = parseBody(featureBody, body);
    if (isProblem(fields)) return fields;
    const { feature, at } = fields;
    return this.readView(
      projectKey,
      at,
      (input) => featureView(input, feature) ?? unknownFeatureProblem(feature),
    );
  }

  async zoom(projectKey: ProjectKey, body: unknown): AsyncReply<ZoomView & LogPosition> {
    const fields = parseBody(zoomBody, body);
    if (isProblem(fields)) return fields;
    const { edge = null, feature, at } = fields;
    return this.readView(projectKey, at, (input) => {
      const isSelected = (id: string) => feature === undefined || feature === id;
      const rows = input.rows.filter((row) => isSelected(row.feature.feature_id));
      if (feature !== undefined && rows.length === 0) return unknownFeatureProblem(feature);
      return zoomView({ ...input, rows }, edge);
    });
  }

  async trace(projectKey: ProjectKey, body: unknown): AsyncReply<TraceReply> {
    const fields = parseBody(traceBody, body);
    if (isProblem(fields)) return fields;
    const { req, direction, at } = fields;
    return this.readView(projectKey, at, (input) => {
      const trace = traceView(input, req);
      const features = trace.features.map((feature) => limitToDirection(feature, direction));
      return { ...trace, direction, features };
    });
  }

  spawn(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<SpawnReply> {
    return this.run(projectKey, parseBody(spawnBody, body), caller, spawnOperation);
  }

  foldBack(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<FoldBackReply> {
    return this.run(projectKey, parseBody(foldBackBody, body), caller, foldBackOperation);
  }

  async checkpoint(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<CheckpointReply> {
    const fields = parseBody(checkpointBody, body);
    if (isProblem(fields)) return fields;
    return this.withCurrentProject(projectKey, async ({ project, state }) => {
      const recorded = await project.run(checkpointOperation(fields, state, caller), caller);
      return isProblem(recorded) ? recorded : buildCheckpointReply(recorded, fields, project);
    });
  }

  /** Candidates that wait for a person, with the fields a decision on them must name, and pending proposals of tasks. */
  reviews(projectKey: ProjectKey): AsyncReply<ReviewsReply> {
    return this.scheduleRead(projectKey, async ({ project, state }) => ({
      reviews: await this.withFiles(project, pendingReviews(project.view(), state)),
      proposals: pendingProposals(project.view()),
      ...logPositionOf(state),
    }));
  }

  /** The pending reviews of a loaded project. */
  async pendingReviews(project: Project): Promise<PendingReview[]> {
    const state = await this.stateOf(project);
    return pendingReviews(project.view(), state);
  }

  /** The candidate of a subject that waits for a person; null if none does. */
  async pendingReview(project: Project, subject: string): Promise<PendingReview | null> {
    const state = await this.stateOf(project);
    const review = pendingReviewOf(project.view(), state, subject);
    const [withItsFiles = null] = review === null ? [] : await this.withFiles(project, [review]);
    return withItsFiles;
  }

  private withFiles({ key }: Project, reviews: readonly PendingReview[]): Promise<PendingReview[]> {
    return Promise.all(reviews.map((review) => withFiles(review, key.tenant_id, this.services.blobs)));
  }

  async review(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GateResult> {
    const parsed = parseBody(decideReviewBody, body);
    if (isProblem(parsed)) return parsed;
    const task_id = subjectOfBody(parsed);
    if (isProblem(task_id)) return task_id;
    const { feature_id: _, edge: __, ...fields } = parsed;
    const review = { ...fields, task_id, decision: DECISION_CODES[parsed.decision] };
    return this.services.recordReview(projectKey, review, caller);
  }

  async gaps(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GapsReply> {
    const fields = parseBody(gapsBody, body);
    if (isProblem(fields)) return fields;
    return this.withCurrentProject(projectKey, async ({ project }) => {
      const outcome = await project.run(gapsOperation(fields, caller), caller);
      return isProblem(outcome) ? outcome : { ...outcome, ...logPositionOf(project.state) };
    });
  }

  /** The last recorded gaps and their open intents. Does not search for new ones. */
  recordedGaps(projectKey: ProjectKey, { at }: AtQuery = {}): AsyncReply<GapsFoundReply> {
    return this.readView(projectKey, at, ({ state }) => ({
      last: state.last_gaps,
      open: [...state.signals.values()].filter(({ id }) => id.startsWith('INT-GAP-')),
    }));
  }

  release(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<VersionReleaseReply> {
    return this.run(projectKey, parseBody(versionReleaseBody, body), caller, releaseOperation);
  }

  private async run<Body extends object, Reply>(
    projectKey: ProjectKey,
    body: Body | Problem,
    caller: Caller,
    operationOf: (body: Body, state: MethodologyState, caller: Caller) => Operation<Reply>,
  ): AsyncReply<Reply> {
    if (isProblem(body)) return body;
    return this.withCurrentProject(projectKey, ({ project, state }) =>
      project.run(operationOf(body, state, caller), caller),
    );
  }

  /** Runs a read by way of the read scheduler, because views over all features may take long. */
  private scheduleRead<T>(projectKey: ProjectKey, work: (current: CurrentProject) => AsyncReply<T>) {
    return this.services.readScheduler.run(projectKey.tenant_id, () =>
      this.services.projects.query(projectKey, (project) => this.runWithState(project, work)),
    );
  }

  private withCurrentProject<T>(projectKey: ProjectKey, work: (current: CurrentProject) => AsyncReply<T>) {
    return this.services.projects.withRefreshedProject(projectKey, (project) =>
      this.runWithState(project, work),
    );
  }

  private async runWithState<T>(project: Project, work: (current: CurrentProject) => AsyncReply<T>) {
    return work({ project, state: await this.stateOf(project) });
  }

  /** The methodology state of a project, up to date. Later events update the same object. */
  stateOf(project: Project): Promise<MethodologyState> {
    return this.projection.stateOf(project);
  }

  /** A view of the project now, or at a position of its log. */
  private readView<T extends object>(
    projectKey: ProjectKey,
    at: number | undefined,
    view: (input: RouteInput) => T | Problem,
  ): AsyncReply<T & LogPosition> {
    return this.scheduleRead(projectKey, async ({ project, state }) => {
      const input = await this.inputAt(project, state, at);
      if (isProblem(input)) return input;
      const reply = view(input);
      return isProblem(reply) ? reply : { ...reply, ...logPositionOf(input.state) };
    });
  }

  private async inputAt(
    project: Project,
    state: MethodologyState,
    at: number | undefined,
  ): Promise<RouteInput | Problem> {
    return at === undefined ? viewInputOf(project.state, state, project.view()) : this.pastInput(project, at);
  }

  private async runsAt(project: Project, at: number | undefined): Promise<RunsState> {
    const { history, readRuns } = this.services;
    if (at === undefined) return readRuns(project);
    const state = emptyRunsState();
    const filter = { until_position: at, types: RUN_EVENT_TYPES };
    await history.forEach(project.key, filter, (event) => {
      evolveRuns(state, event);
      return true;
    });
    return state;
  }

  private async pastInput(project: Project, at: number): Promise<RouteInput | Problem> {
    const { history } = this.services;
    const past = await pastProject(history, project, at);
    if (isProblem(past)) return past;
    const state = emptyMethodologyState();
    await history.forEach(project.key, { until_position: at }, (event) => {
      evolveMethodology(state, event);
      return true;
    });
    return viewInputOf(past.state, state, past.context);
  }
}

function limitToDirection(feature: TracedFeature, direction: TraceReply['direction']): TracedFeature {
  if (direction === 'forward') return { ...feature, intent: null, parent: null };
  return direction === 'backward' ? { ...feature, children: [], chain: [] } : feature;
}

const logPositionOf = ({ position, last_updated }: LogPosition): LogPosition => ({
  position,
  last_updated,
});

const unknownFeatureProblem = (feature: string): Problem =>
  problem('NOT_FOUND', `There is no feature ${feature} in this project. List the features: gen status.`);
