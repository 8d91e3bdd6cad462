import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../caller.js';
import type { Problem } from '../problem.js';
import type { GateResult } from '../wire.js';
import type { FeatureView, Health, MethodologyStatus, Zoom } from './view-types.js';
import type * as wire from './wire.js';

type Reply<T> = Promise<T | Problem>;

/** The methodology's own calls, over the same log and the same rules as everything else. */
export class MethodologyService {
  /** Where to go next. Writes nothing, whether it is a dry run or not. */
  start(_scope: ProjectKey, _body: unknown): Reply<wire.StartReply> {
    return later();
  }
  status(_scope: ProjectKey, _body: unknown = {}): Reply<MethodologyStatus & wire.Seen> {
    return later();
  }
  health(_scope: ProjectKey, _body: unknown = {}): Reply<Health & wire.Seen> {
    return later();
  }
  /** Mermaid, as text. */
  gantt(_scope: ProjectKey, _body: unknown = {}): Reply<{ gantt: string } & wire.Seen> {
    return later();
  }
  feature(_scope: ProjectKey, _body: unknown): Reply<FeatureView & wire.Seen> {
    return later();
  }
  zoom(_scope: ProjectKey, _body: unknown): Reply<Zoom & wire.Seen> {
    return later();
  }
  trace(_scope: ProjectKey, _body: unknown): Reply<wire.TraceReply> {
    return later();
  }
  spawn(_scope: ProjectKey, _body: unknown, _caller: Caller = OPEN_CALLER): Reply<wire.SpawnReply> {
    return later();
  }
  foldBack(_scope: ProjectKey, _body: unknown, _caller: Caller = OPEN_CALLER): Reply<wire.FoldBackReply> {
    return later();
  }
  checkpoint(_scope: ProjectKey, _body: unknown, _caller: Caller = OPEN_CALLER): Reply<wire.CheckpointReply> {
    return later();
  }
  reviews(_scope: ProjectKey, _body: unknown = {}): Reply<wire.ReviewsReply> {
    return later();
  }
  review(_scope: ProjectKey, _body: unknown, _caller: Caller = OPEN_CALLER): Reply<GateResult> {
    return later();
  }
  gaps(_scope: ProjectKey, _body: unknown, _caller: Caller = OPEN_CALLER): Reply<wire.GapsReply> {
    return later();
  }
  gapsFound(_scope: ProjectKey): Reply<wire.GapsFoundReply> {
    return later();
  }
  release(_scope: ProjectKey, _body: unknown, _caller: Caller = OPEN_CALLER): Reply<wire.ReleaseReply> {
    return later();
  }
}

const later = (): Promise<never> => Promise.reject(new Error('not built yet'));
