import { actorOf, type Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Operation } from '../queue/operation.js';
import { isProblem, type Problem } from '../wire/problem.js';
import { operationOf, type RequestFields, requestKeyOf } from './shared.js';

interface ChangedSettings<Settings> {
  /** The stored record. */
  readonly record: Partial<Settings>;
  /** The complete settings that apply with this record. They are the reply. */
  readonly settings: Settings;
}

/** Changes a settings record: a project's policy or a tenant's limits. */
export const changeSettings = <Settings extends object>(
  subject: string,
  eventType: 'POLICY_CHANGED' | 'LIMITS_CHANGED',
  change: (view: DecisionView) => ChangedSettings<Settings> | Problem,
  caller: Caller,
  body: RequestFields,
): Operation<Settings | Problem> =>
  operationOf('settings', requestKeyOf(caller, eventType, body), (transaction) => {
    const changed = change(transaction.view);
    if (isProblem(changed)) return changed;
    const { record, settings } = changed;
    transaction.invalidateConcurrentDecisions().writeRecord(subject, eventType, record, actorOf(caller));
    return settings;
  });
