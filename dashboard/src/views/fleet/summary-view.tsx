import { Link } from 'wouter';
import type { Reply } from '../../api/call.js';

/** The numbers of the project in one line. */
export function Summary({ status: { total, counts, claims, parked } }: { status: Reply<'status'> }) {
  const parkedCount = parked.reduce((sum, each) => sum + each.parked, 0);
  const numbers = [
    [claims.length, 'claimed', 'mark-accent'],
    [counts.ready, 'ready', 'mark-good'],
    [counts.blocked, 'blocked', ''],
    [counts.backoff, 'waiting to be retried', ''],
    [counts.held, 'held', 'mark-warn'],
    [counts.suspended, 'waiting for a review', 'mark-warn'],
    [counts.stale, 'stale', 'mark-bad'],
    [counts.exhausted, 'out of attempts', 'mark-bad'],
    [parkedCount, parkedCount === 1 ? 'parked result' : 'parked results', 'mark-warn'],
  ] as const;
  const all = total.completed + total.in_progress + total.pending;
  const isDone = all > 0 && total.completed === all;
  return (
    <p className="row summary">
      <b>
        {total.completed} of {all} done
      </b>
      {numbers.map(([count, name, tone]) =>
        count === 0 ? null : (
          <span key={name} className={`mark ${tone}`}>
            {count} {name}
          </span>
        ),
      )}
      {isDone ? (
        <span>
          Every task has one accepted result. <Link href="/log">Verify the log</Link>
        </span>
      ) : null}
    </p>
  );
}
