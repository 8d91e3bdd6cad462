import { type FeatureView, featureView } from '../../core/features/feature.js';
import { ganttText } from '../../core/features/gantt.js';
import { type Health, healthView } from '../../core/features/health.js';
import { type MethodologyStatus, statusView } from '../../core/features/status.js';
import { type ZoomView, zoomView } from '../../core/features/zoom.js';
import { route } from '../../core/graph/choose-route.js';
import type { RouteQuestion } from '../../core/graph/route.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../caller.js';
import { readBody, subjectOf } from '../operations/read.js';
import { isProblem, type Problem, problem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import type { Projects } from '../projects.js';
import type { ReadTurns } from '../queries/read-turns.js';
import type { GateResult } from '../wire.js';
import { CheckpointOperation, checkpointReply } from './checkpoint.js';
import { FoldBackOperation } from './fold-back.js';
import { Folded } from './folded.js';
import { GapsOperation } from './gaps.js';
import { ReleaseOperation } from './release.js';
import { pendingReviews } from './reviews.js';
import { sceneOf } from './scene.js';
import { SpawnOperation } from './spawn.js';
import { traceIn } from './trace.js';
import * as wire from './wire.js';

export interface MethodologyParts {
  readonly projects: Projects;
  readonly turns: ReadTurns;
  /** A decision on a candidate is a matter of its claim: the rules of claims take it. */
  readonly recordReview: (scope: ProjectKey, body: unknown, caller: Caller) => Reply<GateResult>;
}

/** A project, and how far its features are, up to now. */
interface Present {
  readonly project: Project;
  readonly state: Folded['state'];
}

/** The methodology's own calls, over the same log and the same rules as everything else. */
export class MethodologyService {
  private readonly folded = new WeakMap<Project, Folded>();

  constructor(private readonly parts: MethodologyParts) {}

  /** Where to go next. Writes nothing, whether it is a dry run or not. */
  async start(scope: ProjectKey, body: unknown): Reply<wire.StartReply> {
    const read = readBody(wire.startBody, body);
    if (isProblem(read)) return read;
    const { dry_run: _, request_id: __, ...named } = read;
    const asked = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
    return this.look(scope, (question) => {
      const { reasons, ...way } = route({ ...question, asked });
      return { execution_id: null, ...way, reasons, routing_reason: reasons.join('; ') };
    });
  }

  status(scope: ProjectKey): Reply<MethodologyStatus> {
    return this.look(scope, statusView);
  }
  health(scope: ProjectKey): Reply<Health & wire.Seen> {
    return this.look(scope, (question) => healthView(question));
  }
  /** Mermaid, as text. */
  gantt(scope: ProjectKey): Reply<{ gantt: string } & wire.Seen> {
    return this.look(scope, (question) => ({ gantt: ganttText(question) }));
  }

  async feature(scope: ProjectKey, body: unknown): Reply<FeatureView & wire.Seen> {
    const read = readBody(wire.featureBody, body);
    if (isProblem(read)) return read;
    const { feature } = read;
    return this.look(scope, (question) => featureView(question, feature) ?? noFeature(feature));
  }

  async zoom(scope: ProjectKey, body: unknown): Reply<ZoomView & wire.Seen> {
    const read = readBody(wire.zoomBody, body);
    if (isProblem(read)) return read;
    const { edge = null, feature } = read;
    return this.look(scope, (question) => {
      const isMeant = (id: string) => feature === undefined || feature === id;
      const rows = question.rows.filter(({ vector }) => isMeant(vector.feature_id));
      if (feature !== undefined && rows.length === 0) return noFeature(feature);
      return zoomView({ ...question, rows }, edge);
    });
  }

  async trace(scope: ProjectKey, body: unknown): Reply<wire.TraceReply> {
    const read = readBody(wire.traceBody, body);
    if (isProblem(read)) return read;
    return this.look(scope, (question) => traceIn(question, read));
  }

  async spawn(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.SpawnReply> {
    const read = readBody(wire.spawnBody, body);
    if (isProblem(read)) return read;
    return this.at(scope, ({ project, state }) =>
      project.run(new SpawnOperation(read, state, caller), caller),
    );
  }

  async foldBack(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.FoldBackReply> {
    const read = readBody(wire.foldBackBody, body);
    if (isProblem(read)) return read;
    return this.at(scope, ({ project, state }) =>
      project.run(new FoldBackOperation(read, state, caller), caller),
    );
  }

  async checkpoint(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.CheckpointReply> {
    const read = readBody(wire.checkpointBody, body);
    if (isProblem(read)) return read;
    return this.at(scope, async ({ project, state }) => {
      const marked = await project.run(new CheckpointOperation(read, state, caller), caller);
      if (isProblem(marked)) return marked;
      const desk = project.desk();
      const rulesOf = (subject: string) => desk.rulesOf(subject);
      return checkpointReply(marked, read, {
        store: project.store,
        key: scope,
        rulesOf,
        environment: project.environment,
      });
    });
  }

  /** What waits for a human, and what a decision on it must name. */
  reviews(scope: ProjectKey): Reply<wire.ReviewsReply> {
    return this.inTurn(scope, async ({ project, state }) => ({
      reviews: pendingReviews(project.state, state),
      ...seen(state),
    }));
  }

  async review(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<GateResult> {
    const read = readBody(wire.reviewBody, body);
    if (isProblem(read)) return read;
    const task_id = subjectOf(read);
    if (isProblem(task_id)) return task_id;
    const { feature_id: _, edge: __, decision, ...said } = read;
    return this.parts.recordReview(scope, { ...said, task_id, decision: wire.DECISIONS[decision] }, caller);
  }

  async gaps(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.GapsReply> {
    const read = readBody(wire.gapsBody, body);
    if (isProblem(read)) return read;
    return this.at(scope, async ({ project }) => {
      const outcome = await project.run(new GapsOperation(read, caller), caller);
      return isProblem(outcome) ? outcome : { ...outcome, ...seen(project.state) };
    });
  }

  /** What was found last; looks for nothing. */
  gapsFound(scope: ProjectKey): Reply<wire.GapsFoundReply> {
    return this.inTurn(scope, async ({ state }) => ({
      last: state.last_gaps,
      open: [...state.signals.values()].filter(({ id }) => id.startsWith('INT-GAP-')),
      ...seen(state),
    }));
  }

  async release(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ReleaseReply> {
    const read = readBody(wire.releaseBody, body);
    if (isProblem(read)) return read;
    return this.at(scope, ({ project, state }) =>
      project.run(new ReleaseOperation(read, state, caller), caller),
    );
  }

  /** A view of all features waits for its turn. */
  private inTurn<T>(scope: ProjectKey, work: (present: Present) => Reply<T>): Reply<T> {
    return this.parts.turns.take(scope.tenant_id, () => this.at(scope, work));
  }

  private at<T>(scope: ProjectKey, work: (present: Present) => Reply<T>): Reply<T> {
    return this.parts.projects.current(scope, async (project) => {
      const folded = this.folded.get(project) ?? new Folded();
      this.folded.set(project, folded);
      await folded.reader.catchUp(project);
      return work({ project, state: folded.state });
    });
  }

  private look<T extends object>(
    scope: ProjectKey,
    view: (question: RouteQuestion) => T | Problem,
  ): Reply<T & wire.Seen> {
    return this.inTurn(scope, async ({ project, state }) => {
      const found = view(sceneOf(project.state, state, project.desk()));
      return isProblem(found) ? found : { ...found, ...seen(state) };
    });
  }
}

const seen = ({ position, last_updated }: wire.Seen): wire.Seen => ({ position, last_updated });

const noFeature = (feature: string): Problem =>
  problem('NOT_FOUND', `There is no feature ${feature} in this project. What there is: gen status.`);
