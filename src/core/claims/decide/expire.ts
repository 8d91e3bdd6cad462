import { isoTime } from '../../events/envelope.js';
import type { Decision, DecisionContext, SubjectCommand } from '../commands.js';
import type { Head, LastClaim } from '../head.js';
import { canTakeOver, isStale, staleFromMs } from '../lease.js';
import { DecisionBuilder, holderAttribution, refuse } from './decision-builder.js';

/**
 * Decides the sweeper's command: records an expiry that has taken effect, or that the claim has become stale. No other
 * decision depends on whether the sweeper has run.
 */
export function decideExpire(head: Head, _: SubjectCommand<'expire'>, context: DecisionContext): Decision {
  const claim = head.claim;
  if (claim === null || claim.state === 'EXPIRED') return refuse(head, 'NOT_EXPIRED');
  if (canTakeOver(head, context.now_ms, context.rules))
    return new DecisionBuilder(head, context).build('EXPIRED');
  if (isStale(head, context.now_ms, context.rules) && !claim.stale) return reportStale(head, claim, context);
  return refuse(head, 'NOT_EXPIRED');
}

function reportStale(head: Head, claim: LastClaim, context: DecisionContext): Decision {
  const staleSinceMs = staleFromMs(claim, context.rules);
  return new DecisionBuilder(head, context)
    .emit('lost', holderAttribution(head), {
      cause: 'EXPIRED',
      disposition: 'held',
      expired_at: isoTime(staleSinceMs),
    })
    .build('STALE', {}, { not_before_ms: staleSinceMs });
}
