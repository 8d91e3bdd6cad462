import type * as wire from '../coordinator/methodology/wire.js';
import type { ConfigureResult } from '../coordinator/wire.js';
import type { FeatureView } from '../core/features/feature.js';
import type { Health } from '../core/features/health.js';
import type { MethodologyStatus } from '../core/features/status.js';
import type { ZoomView } from '../core/features/zoom.js';
import type { Reply } from './asked.js';
import { defined, withRequestId } from './endpoint.js';
import type { Request } from './http.js';
import type { GateReply } from './replies.js';

/** How a call reaches the server, for the tenant and with the credential of its client. */
export type Send = <T>(request: Pick<Request, 'method' | 'path' | 'query' | 'body'>) => Reply<T>;

type Seen<T> = Reply<T & wire.Seen>;

/** The methodology's own calls, of one project. */
export class MethodologyCalls {
  constructor(
    private readonly project_id: string,
    private readonly send: Send,
  ) {}

  /** Makes the project one of the methodology, or changes what it says: YAML files by their path. */
  init(
    asked: { files?: Readonly<Record<string, string>>; request_id?: string } = {},
  ): Reply<ConfigureResult> {
    return this.post('/api/init', asked);
  }

  /** Where to go next; writes nothing. */
  start(asked: wire.StartBody = {}): Reply<wire.StartReply> {
    return this.post('/api/start', asked);
  }

  status(): Seen<MethodologyStatus> {
    return this.get('/api/status');
  }
  feature(feature: string): Seen<FeatureView> {
    return this.get('/api/status', { feature });
  }
  health(): Seen<Health> {
    return this.get('/api/status', { health: 'true' });
  }
  /** Mermaid, as text. */
  gantt(): Seen<{ gantt: string }> {
    return this.get('/api/status', { gantt: 'true' });
  }
  zoom(asked: wire.ZoomBody = {}): Seen<ZoomView> {
    return this.get('/api/zoom', { ...asked });
  }
  trace(asked: wire.TraceBody): Reply<wire.TraceReply> {
    return this.get('/api/trace', { ...asked });
  }

  spawn(asked: wire.SpawnBody): Reply<wire.SpawnReply> {
    return this.post('/api/spawn', asked);
  }
  foldBack(asked: wire.FoldBackBody): Reply<wire.FoldBackReply> {
    return this.post('/api/spawn/fold_back', asked);
  }
  checkpoint(asked: wire.CheckpointBody): Reply<wire.CheckpointReply> {
    return this.post('/api/checkpoint', asked);
  }

  /** What waits for a human. */
  reviews(): Reply<wire.ReviewsReply> {
    return this.get('/api/review');
  }
  review(asked: wire.ReviewBody): Reply<GateReply> {
    return this.post('/api/review', asked);
  }

  gaps(asked: wire.GapsBody): Reply<wire.GapsReply> {
    return this.post('/api/gaps', asked);
  }
  gapsFound(): Reply<wire.GapsFoundReply> {
    return this.get('/api/gaps');
  }
  release(asked: wire.ReleaseBody): Reply<wire.ReleaseReply> {
    return this.post('/api/release', asked);
  }

  private post<T>(path: string, asked: object): Reply<T> {
    return this.send({
      method: 'POST',
      path,
      body: { project_id: this.project_id, ...withRequestId(asked) },
    });
  }

  private get<T>(path: string, query: Readonly<Record<string, string | undefined>> = {}): Reply<T> {
    return this.send({ method: 'GET', path, query: { project_id: this.project_id, ...defined(query) } });
  }
}
