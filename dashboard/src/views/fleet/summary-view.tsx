import { Link, useLocation } from 'wouter';
import type { Reply } from '../../api/call.js';
import { useIsAllowed } from '../../api/whoami.js';
import { AgentName } from '../../components/agent-name.js';
import { TaskLink } from '../../components/links.js';
import { TimeText } from '../../components/time-text.js';
import { useServerClock } from '../../live/server-clock.js';
import { durationText } from '../../model/duration.js';
import { useFeatures } from '../features/use-features.js';
import { requestVerification } from '../log/verification-request.js';
import { oldestClaim } from './agent-rows.js';

/** The numbers of the project in one line, each with a link to what it counts, and the oldest claim. */
export function Summary({ status: { total, counts, claims, parked } }: { status: Reply<'status'> }) {
  const parkedCount = parked.reduce((sum, each) => sum + each.parked, 0);
  const numbers = [
    [claims.length, 'claimed', 'mark-accent', listPath('claimed')],
    [counts.ready, 'ready', 'mark-good', listPath('ready')],
    [counts.blocked, 'blocked', '', listPath('blocked')],
    [counts.backoff, 'waiting to be retried', '', listPath('backoff')],
    [counts.held, 'on hold', 'mark-warn', '/inbox/held'],
    [counts.suspended, 'waiting for a review', 'mark-warn', '/inbox/review'],
    [counts.stale, 'stale', 'mark-bad', '/inbox/stale'],
    [counts.exhausted, 'out of attempts', 'mark-bad', '/inbox/limit'],
    [parkedCount, parkedCount === 1 ? 'parked result' : 'parked results', 'mark-warn', '/inbox/parked'],
  ] as const;
  const taskCount = total.completed + total.in_progress + total.pending;
  const isDone = taskCount > 0 && total.completed === taskCount;
  const canVerify = useIsAllowed('verify_log');
  const edges = useFeatures().data?.project ?? NO_EDGES;
  return (
    <>
      <p className="row summary">
        {taskCount === 0 && edges.edges_total > 0 ? null : (
          <b>
            {total.completed} of {taskCount} done
          </b>
        )}
        {edges.edges_total === 0 ? null : (
          <b>
            {edges.edges_completed} of {edges.edges_total} edges converged
          </b>
        )}
        {numbers.map(([count, name, tone, path]) =>
          count === 0 ? null : (
            <Link key={name} href={path} className={`mark ${tone}`}>
              {count} {name}
            </Link>
          ),
        )}
        {isDone ? (
          <span>Every task has one accepted result. {canVerify ? <VerifyButton /> : null}</span>
        ) : null}
      </p>
      {taskCount + edges.edges_total + claims.length === 0 ? null : (
        <OldestClaim claims={claims} readyCount={counts.ready} />
      )}
    </>
  );
}

/** Opens the log view, which shows the verification that it starts. */
function VerifyButton() {
  const [, go] = useLocation();
  const verify = () => {
    requestVerification();
    go('/log');
  };
  return (
    <button type="button" onClick={verify}>
      Verify the log
    </button>
  );
}

/** The progress of a project without a methodology. */
const NO_EDGES = { edges_completed: 0, edges_total: 0 };

const listPath = (state: string): string => `/plan?tab=list&state=${state}`;

interface OldestClaimProps {
  readonly claims: Reply<'status'>['claims'];
  readonly readyCount: number;
}

function OldestClaim({ claims, readyCount }: OldestClaimProps) {
  const nowMs = useServerClock();
  const oldest = oldestClaim(claims);
  if (oldest === null)
    return (
      <p className="oldest-claim quiet">
        No claim is held.
        {readyCount === 0 ? null : (
          <>
            {' '}
            Claim a task: <code>gen task claim</code>
          </>
        )}
      </p>
    );
  const heldMs = Math.max(0, nowMs - Date.parse(oldest.claimed_at));
  return (
    <p className="oldest-claim">
      Oldest claim: <TaskLink id={oldest.task_id} />, held by{' '}
      <b>
        <AgentName id={oldest.agent_id} />
      </b>{' '}
      for {durationText(heldMs)}, since <TimeText at={oldest.claimed_at} />
    </p>
  );
}
