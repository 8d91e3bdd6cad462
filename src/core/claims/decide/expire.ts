import { isoTime } from '../../events/envelope.js';
import type { Decision, DecisionContext, SubjectCommand } from '../commands.js';
import type { Head, LastClaim } from '../head.js';
import { canTakeOver, isStale, staleFromMs } from '../lease.js';
import { DecisionBuilder, holderActor, refuse } from './decision-builder.js';

/** Decides the sweeper's command: records an expiry that has taken effect. No other decision depends on it. */
export function decideExpire(head: Head, _: SubjectCommand<'expire'>, ctx: DecisionContext): Decision {
  const claim = head.claim;
  if (claim === null || claim.state === 'EXPIRED') return refuse(head, 'NOT_EXPIRED');
  if (canTakeOver(head, ctx.now_ms, ctx.rules)) return new DecisionBuilder(head, ctx).build('EXPIRED');
  if (isStale(head, ctx.now_ms, ctx.rules) && !claim.stale) return reportStale(head, claim, ctx);
  return refuse(head, 'NOT_EXPIRED');
}

function reportStale(head: Head, claim: LastClaim, ctx: DecisionContext): Decision {
  const sinceMs = staleFromMs(claim, ctx.rules);
  return new DecisionBuilder(head, ctx)
    .emit('lost', holderActor(head), {
      cause: 'EXPIRED',
      disposition: 'held',
      expired_at: isoTime(sinceMs),
    })
    .build('STALE', {}, { not_before_ms: sinceMs });
}
