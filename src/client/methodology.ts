import type {
  CheckpointBody,
  DecideReviewBody,
  FoldBackBody,
  GapsBody,
  SpawnBody,
  StartBody,
  VersionReleaseBody,
} from '../core/contract/methodology.js';
import type {
  FeatureView,
  HealthReport,
  MethodologyStatus,
  TraceBody,
  ZoomBody,
} from '../core/contract/methodology-views.js';
import type { LogPosition } from '../core/contract/schema.js';
import { withRequestId } from './endpoint.js';
import type { HttpRequest } from './http.js';
import type { GateReply } from './replies.js';
import type { CallReply, ReplyTo } from './requests.js';

/** Sends a call to the server with the client's tenant and credential. */
export type SendRequest = <T>(
  request: Pick<HttpRequest, 'method' | 'path' | 'query' | 'body'>,
) => CallReply<T>;

type SeenReply<T> = CallReply<T & LogPosition>;

export class MethodologyClient {
  constructor(
    private readonly projectId: string,
    private readonly send: SendRequest,
  ) {}

  /** Configures the project for the methodology, or updates its configuration: YAML files by path. */
  init(
    request: { files?: Readonly<Record<string, string>>; request_id?: string } = {},
  ): CallReply<ReplyTo<'init'>> {
    return this.post('/api/init', request);
  }

  /** Recommends the next work. Writes nothing. */
  start(request: StartBody = {}): CallReply<ReplyTo<'start'>> {
    return this.post('/api/start', request);
  }

  status(): SeenReply<MethodologyStatus> {
    return this.get('/api/status');
  }
  feature(feature: string): SeenReply<FeatureView> {
    return this.get('/api/status', { feature });
  }
  health(): SeenReply<HealthReport> {
    return this.get('/api/status', { health: 'true' });
  }
  /** A Gantt chart as Mermaid text. */
  gantt(): SeenReply<{ gantt: string }> {
    return this.get('/api/status', { gantt: 'true' });
  }
  zoom(request: ZoomBody = {}): CallReply<ReplyTo<'zoom'>> {
    return this.get('/api/zoom', { ...request });
  }
  trace(request: TraceBody): CallReply<ReplyTo<'trace'>> {
    return this.get('/api/trace', { ...request });
  }

  spawn(request: SpawnBody): CallReply<ReplyTo<'spawn'>> {
    return this.post('/api/spawn', request);
  }
  foldBack(request: FoldBackBody): CallReply<ReplyTo<'fold_back'>> {
    return this.post('/api/spawn/fold_back', request);
  }
  checkpoint(request: CheckpointBody): CallReply<ReplyTo<'checkpoint'>> {
    return this.post('/api/checkpoint', request);
  }

  /** Candidates that wait for a human. */
  reviews(): CallReply<ReplyTo<'pending_reviews'>> {
    return this.get('/api/review');
  }
  review(request: DecideReviewBody): CallReply<GateReply> {
    return this.post('/api/review', request);
  }

  gaps(request: GapsBody): CallReply<ReplyTo<'validate_gaps'>> {
    return this.post('/api/gaps', request);
  }
  gapsFound(): CallReply<ReplyTo<'known_gaps'>> {
    return this.get('/api/gaps');
  }
  release(request: VersionReleaseBody): CallReply<ReplyTo<'release'>> {
    return this.post('/api/release', request);
  }

  private post<T>(path: string, request: object): CallReply<T> {
    const body = { project_id: this.projectId, ...withRequestId(request) };
    return this.send({ method: 'POST', path, body });
  }

  private get<T>(path: string, query: Readonly<Record<string, string | undefined>> = {}): CallReply<T> {
    return this.send({ method: 'GET', path, query: { project_id: this.projectId, ...query } });
  }
}
