import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Operation } from '../queue/operation.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import { requestKeyOf } from './shared.js';

/** Changes a settings record: a project's policy or a tenant's limits. */
export function changeSettings<Settings extends object>(
  subject: string,
  eventType: 'POLICY_CHANGED' | 'LIMITS_CHANGED',
  computeSettings: (view: DecisionView) => Settings,
  caller: Caller,
  body: { request_id?: string | undefined },
): Operation<Settings> {
  const request = requestKeyOf(caller, eventType, body);
  return {
    kind: 'settings',
    request,
    attempt(view) {
      const settings = computeSettings(view);
      const transaction = new TransactionBuilder(view).markRulesChanged();
      return transaction.writeRecord(subject, eventType, settings, actorOf(caller)).answer(request, settings);
    },
  };
}
