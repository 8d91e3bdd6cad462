import type { ClaimsCommand, Decision } from '../../core/claims/commands.js';
import { decide } from '../../core/claims/decide.js';
import type { Desk } from '../desk.js';
import type { Attempt, Operation } from '../operation.js';
import { UnitBuilder } from '../unit-builder.js';
import { countSession, countTrackAgent, type Said } from './shared.js';

/**
 * A command about a claim that needs no memory: renew, release, suspend, resume, note, review, expire. Idempotent from the head, so no request has to
 * be remembered: whoever repeats one gets the answer that the head gives.
 */
export class HolderOperation<Reply> implements Operation<Reply> {
  readonly request = null;

  constructor(
    private readonly subject: string,
    private readonly command: ClaimsCommand | ((desk: Desk) => ClaimsCommand),
    private readonly render: (decision: Decision) => Reply,
    private readonly said: Said = {},
  ) {}

  attempt(desk: Desk): Attempt<Reply> {
    const command = typeof this.command === 'function' ? this.command(desk) : this.command;
    const decision = decide(desk.head(this.subject), command, desk.context(this.subject));
    const unit = new UnitBuilder(desk, this.said.request_id ?? null);
    unit.decided(decision, this.said.signature);
    // Time itself is no sign of life: written down or not, an expiry leaves the session as it was.
    if (command.type !== 'expire') countSession(unit, desk, decision);
    countTrackAgent(unit, desk, decision);
    return { unit: unit.build(null), reply: this.render(decision) };
  }

  replay(): Reply {
    throw new Error('a holder’s command is never remembered');
  }
}
