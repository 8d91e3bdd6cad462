import type { ClaimsCommand, Decision } from '../../core/claims/commands.js';
import { decide } from '../../core/claims/decide.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import {
  extendSessionPermit,
  type RequestFields,
  shortenSessionPermit,
  updateTrackPermits,
} from './shared.js';

/**
 * A command on one claim: renew, release, suspend, resume, note, review, expire. Renew and release are idempotent by
 * the head, so a repeat gets its answer from the head. The others are remembered under `request`.
 */
export class HolderOperation<Reply> implements Operation<Reply> {
  readonly kind: string;
  constructor(
    private readonly subject: string,
    private readonly command: ClaimsCommand | ((view: DecisionView) => ClaimsCommand),
    private readonly render: (decision: Decision) => Reply,
    private readonly requestFields: RequestFields = {},
    readonly request: Operation<Reply>['request'] = null,
  ) {
    this.kind = typeof command === 'function' ? 'record_review' : command.type;
  }

  attempt(view: DecisionView): Attempt<Reply> {
    const command = typeof this.command === 'function' ? this.command(view) : this.command;
    const decision = decide(view.head(this.subject), command, view.decisionContext(this.subject));
    const transaction = new TransactionBuilder(view, this.requestFields.request_id ?? null);
    transaction.addDecision(decision, this.requestFields.signature);
    // An expiry is not an action of the session, so it does not extend its activity.
    if (command.type !== 'expire') extendSessionPermit(transaction, view, decision);
    else if (decision.next.claim?.state === 'EXPIRED') shortenSessionPermit(transaction, view, decision.head);
    updateTrackPermits(transaction, view, decision);
    if (decision.ok) transaction.markEffective();
    const reply = this.render(decision);
    return { transaction: transaction.build(this.request, reply), reply };
  }

  replay(): Reply {
    throw new Error('the stored request of a holder command contains its reply');
  }
}
