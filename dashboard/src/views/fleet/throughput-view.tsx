import { useServerClock } from '../../live/server-clock.js';
import { acceptedPerMinute, MINUTES_SHOWN } from './activity.js';

const HEIGHT = 40;
const BAR_WIDTH = 5;

interface ThroughputProps {
  readonly acceptedAtMs: readonly number[];
  /** Whether events of the last hour are still to be read. */
  readonly isBehind: boolean;
}

/** Accepted results per minute of the last hour. */
export function Throughput({ acceptedAtMs, isBehind }: ThroughputProps) {
  const counts = acceptedPerMinute(acceptedAtMs, useServerClock());
  const highest = Math.max(1, ...counts);
  const totalCount = counts.reduce((sum, count) => sum + count, 0);
  const text = `${totalCount} ${totalCount === 1 ? 'result' : 'results'} accepted in the last hour, ${counts.at(-1)} in the last minute`;
  return (
    <>
      <p>
        {text}
        {isBehind ? <span className="quiet"> (still counting)</span> : null}
      </p>
      <svg
        className="throughput"
        viewBox={`0 0 ${MINUTES_SHOWN * BAR_WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Results per minute: ${text}, at most ${Math.max(...counts)} per minute`}
      >
        {counts.map((count, minute) => {
          const height = count === 0 ? 1 : (count / highest) * HEIGHT;
          return (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its minute
              key={minute}
              className={count === 0 ? 'none' : ''}
              x={minute * BAR_WIDTH}
              y={HEIGHT - height}
              width={BAR_WIDTH - 1}
              height={height}
            />
          );
        })}
      </svg>
      <p className="quiet row throughput-axis">
        <span>1 h ago</span>
        <span>now</span>
      </p>
    </>
  );
}
