import type { EventEnvelope } from '../core/events/envelope.js';
import type { Transaction } from '../stores/store.js';
import type { DecisionView } from './decision-view.js';

/**
 * One command on its way through a project's queue. It is decided when its batch is, and decided again
 * whenever the store shows that what it was decided on has moved.
 */
export interface Operation<Reply> {
  /** What it is called where commands are counted. */
  readonly kind: string;
  /** Null: nothing has to be remembered. */
  readonly request: { readonly key: string; readonly digest: string } | null;
  attempt(view: DecisionView): Attempt<Reply> | NeedsFetch;
  /** The request took effect before: the same reply, from the events it led to. */
  replay(events: readonly EventEnvelope[], view: DecisionView): Reply;
}

export interface Attempt<Reply> {
  readonly transaction: Transaction;
  readonly reply: Reply;
}

/** The operation cannot be decided yet: it must read something first, outside the queue. */
export interface NeedsFetch {
  readonly needs: () => Promise<void>;
}
