import { TaskLink } from '../../components/links.js';
import { useServerClock } from '../../live/server-clock.js';
import { durationText } from '../../model/duration.js';
import { type ClaimRow, spentRatio } from './agent-rows.js';

/** A claim with the remaining time of its lease. */
export function HeldClaim({ held: { claim, state } }: { held: ClaimRow }) {
  const nowMs = useServerClock();
  const leftPercent = `${Math.round(100 * (1 - spentRatio(claim, nowMs)))}%`;
  return (
    <div className="held">
      <TaskLink id={claim.task_id} />
      <span className="quiet">generation {claim.generation}</span>
      <span className={`lease lease-${state}`}>
        <span className="lease-bar" aria-hidden="true">
          <span style={{ width: claim.expires_at === null ? '100%' : leftPercent }} />
        </span>
        {leaseText(claim, state === 'suspended', nowMs)}
      </span>
    </div>
  );
}

function leaseText({ expires_at }: ClaimRow['claim'], isSuspended: boolean, nowMs: number): string {
  if (expires_at === null) return 'no lease';
  const leftMs = Date.parse(expires_at) - nowMs;
  if (leftMs <= 0) return `ended ${durationText(-leftMs)} ago`;
  return isSuspended ? `decision within ${durationText(leftMs)}` : `${durationText(leftMs)} left`;
}
