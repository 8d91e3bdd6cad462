import type * as wire from '../coordinator/methodology/wire.js';
import type { ConfigureResult } from '../coordinator/wire/index.js';
import type { FeatureView } from '../core/methodology/views/feature-view.js';
import type { HealthReport } from '../core/methodology/views/health.js';
import type { MethodologyStatus } from '../core/methodology/views/status.js';
import type { ZoomView } from '../core/methodology/views/zoom.js';
import { omitUndefined, withRequestId } from './endpoint.js';
import type { HttpRequest } from './http.js';
import type { GateReply } from './replies.js';
import type { CallReply } from './requests.js';

/** Sends a call to the server with the client's tenant and credential. */
export type SendRequest = <T>(
  request: Pick<HttpRequest, 'method' | 'path' | 'query' | 'body'>,
) => CallReply<T>;

type SeenReply<T> = CallReply<T & wire.LogPosition>;

/** The methodology calls of one project. */
export class MethodologyClient {
  constructor(
    private readonly projectId: string,
    private readonly send: SendRequest,
  ) {}

  /** Configures the project for the methodology, or updates its configuration: YAML files by path. */
  init(
    request: { files?: Readonly<Record<string, string>>; request_id?: string } = {},
  ): CallReply<ConfigureResult> {
    return this.post('/api/init', request);
  }

  /** Recommends the next work. Writes nothing. */
  start(request: wire.StartBody = {}): CallReply<wire.StartReply> {
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
  zoom(request: wire.ZoomBody = {}): SeenReply<ZoomView> {
    return this.get('/api/zoom', { ...request });
  }
  trace(request: wire.TraceBody): CallReply<wire.TraceReply> {
    return this.get('/api/trace', { ...request });
  }

  spawn(request: wire.SpawnBody): CallReply<wire.SpawnReply> {
    return this.post('/api/spawn', request);
  }
  foldBack(request: wire.FoldBackBody): CallReply<wire.FoldBackReply> {
    return this.post('/api/spawn/fold_back', request);
  }
  checkpoint(request: wire.CheckpointBody): CallReply<wire.CheckpointReply> {
    return this.post('/api/checkpoint', request);
  }

  /** Candidates that wait for a human. */
  reviews(): CallReply<wire.ReviewsReply> {
    return this.get('/api/review');
  }
  review(request: wire.MethodologyReviewBody): CallReply<GateReply> {
    return this.post('/api/review', request);
  }

  gaps(request: wire.GapsBody): CallReply<wire.GapsReply> {
    return this.post('/api/gaps', request);
  }
  gapsFound(): CallReply<wire.GapsFoundReply> {
    return this.get('/api/gaps');
  }
  release(request: wire.VersionReleaseBody): CallReply<wire.VersionReleaseReply> {
    return this.post('/api/release', request);
  }

  private post<T>(path: string, request: object): CallReply<T> {
    return this.send({
      method: 'POST',
      path,
      body: { project_id: this.projectId, ...withRequestId(request) },
    });
  }

  private get<T>(path: string, query: Readonly<Record<string, string | undefined>> = {}): CallReply<T> {
    return this.send({ method: 'GET', path, query: { project_id: this.projectId, ...omitUndefined(query) } });
  }
}
