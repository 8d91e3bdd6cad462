import { isoTime } from '../../core/events/envelope.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import { requestKeyOf } from './shared.js';

/** Changes a settings record: a project's policy or a tenant's limits. */
export class SettingsOperation<Settings extends object> implements Operation<Settings> {
  readonly kind = 'settings';
  readonly request;

  constructor(
    private readonly subject: string,
    private readonly eventType: 'POLICY_CHANGED' | 'LIMITS_CHANGED',
    private readonly computeSettings: (view: DecisionView) => Settings,
    private readonly caller: Caller,
    body: { request_id?: string | undefined },
  ) {
    this.request = requestKeyOf(caller, eventType, body);
  }

  attempt(view: DecisionView): Attempt<Settings> {
    const reply = this.computeSettings(view);
    const by = this.caller.user_id ?? this.caller.principal;
    const transaction = new TransactionBuilder(view)
      .markRulesChanged()
      .putRecord(this.subject, view.record(this.subject), [
        {
          event_type: this.eventType,
          timestamp: isoTime(view.now_ms),
          agent_id: by,
          payload: { by, record: reply },
        },
      ]);
    return { transaction: transaction.build(this.request, reply), reply };
  }

  replay(): Settings {
    throw new Error('the stored request of a change of settings contains its reply');
  }
}
