import type { FeatureView, TrajectoryEntry } from '../../../../src/core/contract/methodology-views.js';
import { TaskLink } from '../../components/links.js';
import { TimeText } from '../../components/time-text.js';
import { visibleText } from '../../components/untrusted-text.js';
import { useServerClock } from '../../live/server-clock.js';
import { actorName } from '../../model/actor-name.js';
import { type TimeBar, timeBars } from './trajectory.js';

/** When each edge of a feature was worked on. */
export function EdgeTimeline({ feature }: { feature: FeatureView }) {
  const bars = timeBars(feature.trajectory, useServerClock());
  if (bars.length === 0) return <p className="quiet">No edge has been started.</p>;
  return (
    <ol className="features-time">
      {bars.map((bar) => (
        <li key={bar.entry.edge}>
          <TaskLink id={`${feature.feature_id}#${bar.entry.edge}`} />
          <span className="features-track" aria-hidden="true">
            <span
              className={bar.entry.status === 'converged' ? 'features-bar' : 'features-bar features-open'}
              style={{ marginLeft: `${bar.left * 100}%`, width: `${bar.width * 100}%` }}
            />
          </span>
          <BarText {...bar} />
        </li>
      ))}
    </ol>
  );
}

function BarText({ entry }: TimeBar<TrajectoryEntry>) {
  const { status, started_at, converged_at, iteration, deltas, agent_id } = entry;
  // The delta of a converged edge is 0, whatever its last iteration reported.
  const knownDeltas = status === 'converged' ? [] : deltas.filter((delta) => delta !== null);
  return (
    <span className="quiet">
      {status.replaceAll('_', ' ')}, {iteration === 1 ? '1 iteration' : `${iteration} iterations`}
      {knownDeltas.length === 0 ? '' : `, delta ${knownDeltas.join(' → ')}`}
      {agent_id === null ? '' : `, ${visibleText(actorName(agent_id))}`}
      {started_at === null ? null : (
        <>
          , <TimeText at={started_at} />
        </>
      )}
      {converged_at === null ? null : (
        <>
          {' – '}
          <TimeText at={converged_at} />
        </>
      )}
    </span>
  );
}
