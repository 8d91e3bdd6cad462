import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Operation } from '../queue/operation.js';
import { operationOf, type RequestFields, requestKeyOf } from './shared.js';

/** Changes a settings record: a project's policy or a tenant's limits. */
export const changeSettings = <Settings extends object>(
  subject: string,
  eventType: 'POLICY_CHANGED' | 'LIMITS_CHANGED',
  computeSettings: (view: DecisionView) => Settings,
  caller: Caller,
  body: RequestFields,
): Operation<Settings> =>
  operationOf('settings', requestKeyOf(caller, eventType, body), (transaction) => {
    const settings = computeSettings(transaction.view);
    transaction.invalidateConcurrentDecisions().writeRecord(subject, eventType, settings, actorOf(caller));
    return settings;
  });
