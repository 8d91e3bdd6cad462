import { useServerClock } from '../../live/server-clock.js';
import { acceptedPerMinute, MINUTES_SHOWN } from './activity.js';

const HEIGHT = 40;
const BAR = 5;

/** Accepted results per minute of the last hour. */
export function Throughput({ accepted, isBehind }: { accepted: readonly number[]; isBehind: boolean }) {
  const counts = acceptedPerMinute(accepted, useServerClock());
  const highest = Math.max(1, ...counts);
  const inHour = counts.reduce((sum, count) => sum + count, 0);
  const text = `${inHour} ${inHour === 1 ? 'result' : 'results'} accepted in the last hour, ${counts.at(-1)} in the last minute`;
  return (
    <>
      <p>
        {text}
        {isBehind ? <span className="quiet"> (still counting)</span> : null}
      </p>
      <svg
        className="throughput"
        viewBox={`0 0 ${MINUTES_SHOWN * BAR} ${HEIGHT}`}
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
              x={minute * BAR}
              y={HEIGHT - height}
              width={BAR - 1}
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
