import type { ClaimsCommand, Decision } from '../../core/claims/commands.js';
import { decide } from '../../core/claims/decide.js';
import type { Desk } from '../desk.js';
import type { Attempt, Operation } from '../operation.js';
import { UnitBuilder } from '../unit-builder.js';
import { countLoser, countSession, countTrackAgent, type Said } from './shared.js';

/**
 * A command about one claim: renew, release, suspend, resume, note, review, expire. Renew and release are idempotent from
 * the head: whoever repeats one gets the answer that the head gives. The others come with the request they are
 * remembered under.
 */
export class HolderOperation<Reply> implements Operation<Reply> {
  readonly kind: string;
  constructor(
    private readonly subject: string,
    private readonly command: ClaimsCommand | ((desk: Desk) => ClaimsCommand),
    private readonly render: (decision: Decision) => Reply,
    private readonly said: Said = {},
    readonly request: Operation<Reply>['request'] = null,
  ) {
    this.kind = typeof command === 'function' ? 'record_review' : command.type;
  }

  attempt(desk: Desk): Attempt<Reply> {
    const command = typeof this.command === 'function' ? this.command(desk) : this.command;
    const decision = decide(desk.head(this.subject), command, desk.context(this.subject));
    const unit = new UnitBuilder(desk, this.said.request_id ?? null);
    unit.decided(decision, this.said.signature);
    // Time itself is no sign of life: an expiry keeps no session active.
    if (command.type !== 'expire') countSession(unit, desk, decision);
    else if (decision.next.claim?.state === 'EXPIRED') countLoser(unit, desk, decision.head);
    countTrackAgent(unit, desk, decision);
    if (decision.ok) unit.takingEffect();
    const reply = this.render(decision);
    return { unit: unit.build(this.request, reply), reply };
  }

  replay(): Reply {
    throw new Error('a holder’s command is remembered with its reply, if at all');
  }
}
