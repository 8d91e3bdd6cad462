import { isoTime } from '../../events/envelope.js';
import type { Context, Decision } from '../commands.js';
import type { Head, HeldClaim } from '../head.js';
import { stale, staleFromMs, takeable } from '../lease.js';
import { holder, refuse, Telling } from './tell.js';

/** What the sweeper does: writes down what time has decided. No command's answer depends on it. */
export function decideExpire(head: Head, ctx: Context): Decision {
  const claim = head.claim;
  if (claim === null || claim.state === 'EXPIRED') return refuse(head, 'NOT_EXPIRED');
  if (takeable(head, ctx.now_ms, ctx.rules)) return new Telling(head, ctx).done('EXPIRED');
  if (stale(head, ctx.now_ms, ctx.rules) && !claim.stale) return reportStale(head, claim, ctx);
  return refuse(head, 'NOT_EXPIRED');
}

function reportStale(head: Head, claim: HeldClaim, ctx: Context): Decision {
  const since_ms = staleFromMs(claim, ctx.rules);
  return new Telling(head, ctx)
    .tell('lost', holder(head), {
      cause: 'EXPIRED',
      disposition: 'held',
      expired_at: isoTime(since_ms),
    })
    .done('STALE', {}, { not_before_ms: since_ms });
}
