import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Transaction } from '../../stores/store.js';
import type { DecisionView } from './decision-view.js';

/**
 * A command in a project's queue. It is decided with its batch, and decided again whenever the store reports that the
 * state it was decided on has changed.
 */
export interface Operation<Reply> {
  /** The command's name in metrics. */
  readonly kind: string;
  /** Key and digest for idempotent replay; null if the request is not remembered. */
  readonly request: { readonly key: string; readonly digest: string } | null;
  attempt(view: DecisionView): Attempt<Reply> | NeedsFetch;
  /** The reply of a request that already took effect, rebuilt from its events. */
  replay(events: readonly EventEnvelope[], view: DecisionView): Reply;
}

export interface Attempt<Reply> {
  readonly transaction: Transaction;
  readonly reply: Reply;
}

/** The operation cannot be decided yet: it must first fetch something, outside the queue. */
export interface NeedsFetch {
  readonly needs: () => Promise<void>;
}
