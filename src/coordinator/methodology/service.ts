import type { GateResult } from '../../core/contract/claims.js';
import {
  type CheckpointReply,
  checkpointBody,
  DECISION_CODES,
  decideReviewBody,
  type FoldBackReply,
  foldBackBody,
  type GapsFoundReply,
  type GapsReply,
  gapsBody,
  type ReviewsReply,
  type SpawnReply,
  type StartReply,
  spawnBody,
  startBody,
  type VersionReleaseReply,
  versionReleaseBody,
} from '../../core/contract/methodology.js';
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
import type { LogPosition } from '../../core/contract/schema.js';
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
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { parseBody, subjectOfBody } from '../operations/parse-body.js';
import type { ReadScheduler } from '../queries/read-scheduler.js';
import { EventProjection } from '../queue/event-projection.js';
import type { Operation } from '../queue/operation.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import { type AsyncReply, isProblem, type Problem, problem } from '../wire/problem.js';
import { checkpointOperation, checkpointReply } from './checkpoint.js';
import { foldBackOperation } from './fold-back.js';
import { gapsOperation } from './gaps.js';
import { releaseOperation } from './release.js';
import { pendingReviews } from './reviews.js';
import { spawnOperation } from './spawn.js';
import { viewInputOf } from './view-input.js';

interface MethodologyDependencies {
  readonly projects: Projects;
  readonly readScheduler: ReadScheduler;
  /** Records a decision on a candidate. It belongs to the claim, so the claim rules decide it. */
  readonly recordReview: (scope: ProjectKey, body: unknown, caller: Caller) => AsyncReply<GateResult>;
}

/** A project with its up-to-date methodology state. */
interface CurrentProject {
  readonly project: Project;
  readonly state: MethodologyState;
}

/** The methodology's commands and views, on the same log and rules as all others. */
export class MethodologyService {
  private readonly projection = new EventProjection(emptyMethodologyState, evolveMethodology);

  constructor(private readonly dependencies: MethodologyDependencies) {}

  /** Recommends the next work. Never writes anything, dry run or not. */
  async start(scope: ProjectKey, body: unknown): AsyncReply<StartReply> {
    const read = parseBody(startBody, body);
    if (isProblem(read)) return read;
    const { dry_run: _, request_id: __, ...fields } = read;
    const constraints = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    return this.readView(scope, (input) => {
      const { reasons, ...chosen } = chooseRoute({ ...input, request: constraints });
      return { execution_id: null, ...chosen, reasons, routing_reason: reasons.join('; ') };
    });
  }

  status(scope: ProjectKey): AsyncReply<MethodologyStatus> {
    return this.readView(scope, statusView);
  }
  health(scope: ProjectKey): AsyncReply<HealthReport & LogPosition> {
    return this.readView(scope, healthView);
  }
  /** A Gantt chart as Mermaid text. */
  gantt(scope: ProjectKey): AsyncReply<{ gantt: string } & LogPosition> {
    return this.readView(scope, (input) => ({ gantt: ganttText(input) }));
  }

  async feature(scope: ProjectKey, body: unknown): AsyncReply<FeatureView & LogPosition> {
    const read = parseBody(featureBody, body);
    if (isProblem(read)) return read;
    const { feature } = read;
    return this.readView(scope, (input) => featureView(input, feature) ?? unknownFeatureProblem(feature));
  }

  async zoom(scope: ProjectKey, body: unknown): AsyncReply<ZoomView & LogPosition> {
    const read = parseBody(zoomBody, body);
    if (isProblem(read)) return read;
    const { edge = null, feature } = read;
    return this.readView(scope, (input) => {
      const isSelected = (id: string) => feature === undefined || feature === id;
      const rows = input.rows.filter(({ vector }) => isSelected(vector.feature_id));
      if (feature !== undefined && rows.length === 0) return unknownFeatureProblem(feature);
      return zoomView({ ...input, rows }, edge);
    });
  }

  async trace(scope: ProjectKey, body: unknown): AsyncReply<TraceReply> {
    const read = parseBody(traceBody, body);
    if (isProblem(read)) return read;
    const { req, direction } = read;
    return this.readView(scope, (input) => {
      const trace = traceView(input, req);
      const features = trace.features.map((feature) => limitToDirection(feature, direction));
      return { ...trace, direction, features };
    });
  }

  spawn(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<SpawnReply> {
    return this.run(scope, parseBody(spawnBody, body), caller, spawnOperation);
  }

  foldBack(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<FoldBackReply> {
    return this.run(scope, parseBody(foldBackBody, body), caller, foldBackOperation);
  }

  async checkpoint(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<CheckpointReply> {
    const read = parseBody(checkpointBody, body);
    if (isProblem(read)) return read;
    return this.withCurrentProject(scope, async ({ project, state }) => {
      const mark = await project.run(checkpointOperation(read, state, caller), caller);
      return isProblem(mark) ? mark : checkpointReply(mark, read, project);
    });
  }

  /** Candidates that wait for a human, with the fields a decision on them must name. */
  reviews(scope: ProjectKey): AsyncReply<ReviewsReply> {
    return this.scheduleRead(scope, async ({ project, state }) => ({
      reviews: pendingReviews(project.view(), state),
      ...logPositionOf(state),
    }));
  }

  async review(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GateResult> {
    const read = parseBody(decideReviewBody, body);
    if (isProblem(read)) return read;
    const task_id = subjectOfBody(read);
    if (isProblem(task_id)) return task_id;
    const { feature_id: _, edge: __, ...fields } = read;
    const review = { ...fields, task_id, decision: DECISION_CODES[read.decision] };
    return this.dependencies.recordReview(scope, review, caller);
  }

  async gaps(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GapsReply> {
    const read = parseBody(gapsBody, body);
    if (isProblem(read)) return read;
    return this.withCurrentProject(scope, async ({ project }) => {
      const outcome = await project.run(gapsOperation(read, caller), caller);
      return isProblem(outcome) ? outcome : { ...outcome, ...logPositionOf(project.state) };
    });
  }

  /** The last recorded gaps and their open intents. Does not search for new ones. */
  gapsFound(scope: ProjectKey): AsyncReply<GapsFoundReply> {
    return this.scheduleRead(scope, async ({ state }) => ({
      last: state.last_gaps,
      open: [...state.signals.values()].filter(({ id }) => id.startsWith('INT-GAP-')),
      ...logPositionOf(state),
    }));
  }

  release(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<VersionReleaseReply> {
    return this.run(scope, parseBody(versionReleaseBody, body), caller, releaseOperation);
  }

  private async run<Body extends object, Reply>(
    scope: ProjectKey,
    body: Body | Problem,
    caller: Caller,
    operationOf: (body: Body, state: MethodologyState, caller: Caller) => Operation<Reply>,
  ): AsyncReply<Reply> {
    if (isProblem(body)) return body;
    return this.withCurrentProject(scope, ({ project, state }) =>
      project.run(operationOf(body, state, caller), caller),
    );
  }

  /** Views over all features are queued by the read scheduler. */
  private scheduleRead<T>(scope: ProjectKey, work: (current: CurrentProject) => AsyncReply<T>) {
    return this.dependencies.readScheduler.run(scope.tenant_id, () => this.withCurrentProject(scope, work));
  }

  private withCurrentProject<T>(scope: ProjectKey, work: (current: CurrentProject) => AsyncReply<T>) {
    return this.dependencies.projects.withRefreshedProject(scope, async (project) =>
      work({ project, state: await this.projection.stateOf(project) }),
    );
  }

  private readView<T extends object>(
    scope: ProjectKey,
    view: (input: RouteInput) => T | Problem,
  ): AsyncReply<T & LogPosition> {
    return this.scheduleRead(scope, async ({ project, state }) => {
      const found = view(viewInputOf(project.state, state, project.view()));
      return isProblem(found) ? found : { ...found, ...logPositionOf(state) };
    });
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
