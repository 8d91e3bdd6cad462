import type {
  FeatureView,
  HealthReport,
  MethodologyStatus,
  TraceBody,
  ZoomBody,
} from '../core/contract/methodology-views.js';
import type { OperationId } from '../core/contract/operations.js';
import type { RunsQuery, SpentQuery } from '../core/contract/runs.js';
import type { AtQuery, LogPosition } from '../core/contract/schema.js';
import { withRequestId } from './endpoint.js';
import type { HttpRequest } from './http.js';
import type { BodyOf, OperationReplyPromise, ReplyPromise } from './requests.js';

/** Sends a call to the server with the client's tenant and credential. */
type SendRequest = <T>(request: Pick<HttpRequest, 'method' | 'path' | 'query' | 'body'>) => ReplyPromise<T>;

type ReplyWithPosition<T> = ReplyPromise<T & LogPosition>;
type ProjectBody<Id extends OperationId> = Omit<BodyOf<Id>, 'project_id'>;

export class MethodologyClient {
  constructor(
    private readonly projectId: string,
    private readonly send: SendRequest,
  ) {}

  /** Configures the project for the methodology, or updates its configuration: YAML files by path. */
  init(request: ProjectBody<'init'> = {}): OperationReplyPromise<'init'> {
    return this.post('/api/init', request);
  }

  /** Recommends the next work. Writes nothing. */
  start(request: ProjectBody<'start'> = {}): OperationReplyPromise<'start'> {
    return this.post('/api/start', request);
  }

  /** `agent_id`: the agent whose next step is shown. */
  status(request: { agent_id?: string } & AtQuery = {}): ReplyWithPosition<MethodologyStatus> {
    return this.get('/api/status', request);
  }
  feature(feature: string, options: AtQuery = {}): ReplyWithPosition<FeatureView> {
    return this.get('/api/status', { feature, ...options });
  }
  health(options: AtQuery = {}): ReplyWithPosition<HealthReport> {
    return this.get('/api/status', { health: 'true', ...options });
  }
  /** A Gantt chart as Mermaid text. */
  gantt(options: AtQuery = {}): ReplyWithPosition<{ gantt: string }> {
    return this.get('/api/status', { gantt: 'true', ...options });
  }
  zoom(request: ZoomBody = {}): OperationReplyPromise<'zoom'> {
    return this.get('/api/zoom', { ...request });
  }
  trace(request: TraceBody): OperationReplyPromise<'trace'> {
    return this.get('/api/trace', { ...request });
  }

  spawn(request: ProjectBody<'spawn'>): OperationReplyPromise<'spawn'> {
    return this.post('/api/spawn', request);
  }
  foldBack(request: ProjectBody<'fold_back'>): OperationReplyPromise<'fold_back'> {
    return this.post('/api/spawn/fold_back', request);
  }
  checkpoint(request: ProjectBody<'checkpoint'>): OperationReplyPromise<'checkpoint'> {
    return this.post('/api/checkpoint', request);
  }

  /** Candidates that wait for a person. */
  reviews(): OperationReplyPromise<'pending_reviews'> {
    return this.get('/api/review');
  }
  /** Adds the tasks that an agent proposed, or rejects them. */
  decideProposal(request: ProjectBody<'decide_proposal'>): OperationReplyPromise<'decide_proposal'> {
    return this.post('/api/review/proposal', request);
  }
  /** Creates a link that lets one person decide on the candidate that is waiting now. */
  createReviewLink(request: ProjectBody<'create_review_link'>): OperationReplyPromise<'create_review_link'> {
    return this.post('/api/review/link', request);
  }
  review(request: ProjectBody<'decide_review'>): OperationReplyPromise<'decide_review'> {
    return this.post('/api/review', request);
  }

  gaps(request: ProjectBody<'validate_gaps'>): OperationReplyPromise<'validate_gaps'> {
    return this.post('/api/gaps', request);
  }
  recordedGaps(options: AtQuery = {}): OperationReplyPromise<'known_gaps'> {
    return this.get('/api/gaps', options);
  }
  release(request: ProjectBody<'release'>): OperationReplyPromise<'release'> {
    return this.post('/api/release', request);
  }

  /** Requests a run of an edge, which gen iterate executes. */
  requestRun(request: ProjectBody<'iterate'>): OperationReplyPromise<'iterate'> {
    return this.post('/api/iterate', request);
  }
  /** The runs of the project, newest first. */
  runs(query: RunsQuery = {}): OperationReplyPromise<'list_runs'> {
    return this.get('/api/runs', { ...query });
  }
  run(runId: string): OperationReplyPromise<'get_run'> {
    return this.get(`/api/runs/${encodeURIComponent(runId)}`);
  }
  cancelRun(runId: string, request: ProjectBody<'cancel_run'> = {}): OperationReplyPromise<'cancel_run'> {
    return this.post(`/api/runs/${encodeURIComponent(runId)}/cancel`, request);
  }
  /** What runs have spent, by feature, in the project and in the tenant. */
  spent(query: SpentQuery = {}): OperationReplyPromise<'runs_spent'> {
    return this.get('/api/spent', { ...query });
  }

  private post<T>(path: string, request: object): ReplyPromise<T> {
    const body = { project_id: this.projectId, ...withRequestId(request) };
    return this.send({ method: 'POST', path, body });
  }

  private get<T>(
    path: string,
    query: Readonly<Record<string, string | number | undefined>> = {},
  ): ReplyPromise<T> {
    return this.send({ method: 'GET', path, query: { project_id: this.projectId, ...query } });
  }
}
