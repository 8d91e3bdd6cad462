import { isoTime } from '../../core/events/envelope.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Attempt, Operation } from '../operation.js';
import { UnitBuilder } from '../unit-builder.js';
import { requestOf } from './shared.js';

/** Changes a record of settings: the policy of a project, the limits of a tenant. */
export class SettingsOperation<Settings extends object> implements Operation<Settings> {
  readonly kind = 'settings';
  readonly request;

  constructor(
    private readonly subject: string,
    private readonly event_type: 'POLICY_CHANGED' | 'LIMITS_CHANGED',
    private readonly changed: (desk: Desk) => Settings,
    private readonly caller: Caller,
    body: { request_id?: string | undefined },
  ) {
    this.request = requestOf(caller, event_type, body);
  }

  attempt(desk: Desk): Attempt<Settings> {
    const reply = this.changed(desk);
    const by = this.caller.user_id ?? this.caller.principal;
    const unit = new UnitBuilder(desk).changingRules().record(this.subject, desk.record(this.subject), [
      {
        event_type: this.event_type,
        timestamp: isoTime(desk.now_ms),
        agent_id: by,
        payload: { by, record: reply },
      },
    ]);
    return { unit: unit.build(this.request, reply), reply };
  }

  replay(): Settings {
    throw new Error('a change of settings is remembered with its reply');
  }
}
