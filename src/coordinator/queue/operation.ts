import type { Decision } from '../../core/claims/commands.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { LogStep, Transaction } from '../../stores/store.js';
import type { DecisionView } from './decision-view.js';

/**
 * A command in a project's queue. It is decided with its batch, and decided again whenever the store reports that the
 * state it was decided on has changed.
 */
export interface Operation<Reply> {
  /** The command's name in metrics. */
  readonly kind: string;
  /** Null if the request is not remembered. */
  readonly requestKey: RequestKey | null;
  attempt(view: DecisionView): Attempt<Reply> | NeedsFetch;
  /**
   * The decision, if one step of a log can commit it. Null if `attempt` has to decide; then nothing has changed. Both
   * come to the same decision. Absent if `attempt` always decides.
   */
  decideDirectly?(view: DecisionView): DirectDecision<Reply> | null;
  /** Whether the committed transaction lacks something, so that the operation must be decided again. */
  shouldRepeat?(transaction: Transaction, positions: readonly (number | null)[]): boolean;
  /** Called if an attempt did not take effect, because the store already had its request. */
  withdraw?(): void;
  /** Rebuilds the reply of a request that already took effect from its events, if it is not stored with the request. */
  replay?(events: readonly EventEnvelope[], view: DecisionView): Reply;
}

/** A decision that one step of a log commits, and its reply. */
export interface DirectDecision<Reply> {
  readonly decision: Decision;
  readonly step: LogStep;
  readonly reply: Reply;
}

/** The key of a remembered request, and the digest that distinguishes it from other requests with the same key. */
export interface RequestKey {
  readonly key: string;
  readonly digest: string;
}

export interface Attempt<Reply> {
  readonly transaction: Transaction;
  readonly reply: Reply;
}

/** The operation cannot be decided yet: it must first fetch something, outside the queue. */
export interface NeedsFetch {
  readonly needs: () => Promise<void>;
}
